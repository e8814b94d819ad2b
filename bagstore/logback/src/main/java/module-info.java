/** An appender for Logback that writes to a store. */
module dev.cinch.bag.logback {
  requires static com.google.errorprone.annotations;
  requires static transitive org.jspecify;
  requires transitive ch.qos.logback.classic;
  requires transitive ch.qos.logback.core;
  requires dev.cinch.bag;
  requires dev.cinch.lease;

  exports dev.cinch.bag.logback;
}
