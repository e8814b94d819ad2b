/** Views: segments are built, read, retired and expired. */
module dev.cinch.view {
  requires static com.google.errorprone.annotations;
  requires static transitive org.jspecify;
  requires transitive dev.cinch.bag;
  requires org.slf4j;

  exports dev.cinch.view;
}
