/** Leases with signed witnesses: the service, its backends, and the clients. */
module dev.cinch.lease {
  requires static com.google.errorprone.annotations;
  requires static transitive org.jspecify;
  requires static org.eclipse.jetty.http;
  requires static org.eclipse.jetty.io;
  requires static org.eclipse.jetty.server;
  requires static org.eclipse.jetty.util;
  requires static io.prometheus.metrics.config;
  requires static io.prometheus.metrics.core;
  requires static io.prometheus.metrics.model;
  requires static io.prometheus.writer.text;
  requires com.fasterxml.jackson.core;
  requires com.fasterxml.jackson.databind;
  requires java.management;
  requires java.naming;
  requires jdk.management;
  requires jdk.unsupported;
  requires org.bouncycastle.provider;
  requires org.slf4j;

  exports dev.cinch.lease;
  exports dev.cinch.lease.access;
  exports dev.cinch.lease.hold;
  exports dev.cinch.lease.client;
  exports dev.cinch.lease.http;
  exports dev.cinch.lease.instance to
      dev.cinch.bag,
      dev.cinch.bag.testkit;
  exports dev.cinch.lease.register to
      dev.cinch.lease.etcd;
  exports dev.cinch.lease.rules to
      dev.cinch.lease.etcd;
  exports dev.cinch.lease.server;
  exports dev.cinch.lease.table to
      dev.cinch.lease.etcd;
  exports dev.cinch.lease.time;
  exports dev.cinch.lease.wire;
  exports dev.cinch.lease.witness to
      dev.cinch.bag,
      dev.cinch.bag.testkit;

  opens dev.cinch.lease.access to
      com.fasterxml.jackson.databind;
}
