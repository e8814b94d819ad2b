/** Views: segments are built, read, retired and expired. Backups of stores are made. */
module dev.cinch.view {
  requires static com.google.errorprone.annotations;
  requires static transitive org.jspecify;
  requires transitive dev.cinch.bag;
  requires com.fasterxml.jackson.databind;
  requires org.slf4j;

  exports dev.cinch.backup;
  exports dev.cinch.view;

  uses dev.cinch.view.SqlEngine;
}
