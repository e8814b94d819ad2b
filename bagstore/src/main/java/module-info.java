/** A bag of messages on a shared filesystem: open a store, append, read, close. */
module dev.cinch.bag {
  requires static com.google.errorprone.annotations;
  requires static transitive org.jspecify;
  requires com.fasterxml.jackson.databind;
  requires transitive dev.cinch.lease;
  requires java.xml;
  requires jdk.unsupported;
  requires org.slf4j;

  exports dev.cinch.bag;
  exports dev.cinch.bag.audit to
      dev.cinch.view;
  exports dev.cinch.bag.close to
      dev.cinch.bag.testkit,
      dev.cinch.view;
  exports dev.cinch.bag.format to
      dev.cinch.view;
  exports dev.cinch.bag.file to
      dev.cinch.view;
  exports dev.cinch.bag.fs to
      dev.cinch.view;
  exports dev.cinch.bag.model;
  exports dev.cinch.bag.read to
      dev.cinch.view;
  exports dev.cinch.bag.registry to
      dev.cinch.bag.testkit,
      dev.cinch.view;
  exports dev.cinch.bag.storage to
      dev.cinch.view;
  exports dev.cinch.bag.storage.object to
      dev.cinch.view;
  exports dev.cinch.bag.storage.posix to
      dev.cinch.view;
  exports dev.cinch.bag.store to
      dev.cinch.bag.testkit,
      dev.cinch.view;
  exports dev.cinch.bag.write;
}
