/** For the tests of programs that use a store: one in memory, with a clock of the test. */
module dev.cinch.bag.testkit {
  requires static com.google.errorprone.annotations;
  requires static transitive org.jspecify;
  requires transitive dev.cinch.bag;
  requires transitive dev.cinch.lease;
  requires com.google.common.jimfs;

  exports dev.cinch.bag.testkit;
}
