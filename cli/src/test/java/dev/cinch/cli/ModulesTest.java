package dev.cinch.cli;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.assignableTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.belongToAnyOf;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.equivalentTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.errorprone.annotations.CheckReturnValue;
import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaCall;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.store.LogContext;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.instance.InstanceRegistry;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Who may know whom: cli → aggregator → bagstore → lease-service. */
@SuppressWarnings("NullAway.Init")
class ModulesTest {
  private static final String LEASE = "dev.cinch.lease..";
  private static final String BAG = "dev.cinch.bag..";
  private static final String VIEW = "dev.cinch.view..";
  private static final String BACKUP = "dev.cinch.backup..";
  private static final String SQL = "dev.cinch.sql..";
  private static final String CLI = "dev.cinch.cli..";

  private static final String[] LIBRARIES = {LEASE, BAG, VIEW, BACKUP};

  private static JavaClasses all;

  @BeforeAll
  static void read() {
    all =
        new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .withImportOption(location -> !location.contains("-tests.jar"))
            .importPackages("dev.cinch");
    for (String name : new String[] {"lease.LeaseService", "bag.Store", "cli.Main"}) {
      assertTrue(all.contain("dev.cinch." + name), name); // or the rules would hold emptily
    }
  }

  private static void holds(ArchRule rule) {
    rule.allowEmptyShould(true).check(all);
  }

  @Test
  void leaseServiceKnowsNoSibling() {
    holds(
        noClasses()
            .that()
            .resideInAPackage(LEASE)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(BAG, VIEW, BACKUP, CLI));
  }

  /**
   * What is written, closed, read, checked and aggregated would be so on any storage (protocol.md,
   * section 1). On files works only what makes and opens a store.
   */
  @Test
  void theProtocolKnowsNoFilesystem() {
    holds(
        noClasses()
            .that()
            .resideInAnyPackage(BAG, VIEW)
            .and()
            .resideOutsideOfPackages(
                "dev.cinch.bag", "dev.cinch.bag.fs", "dev.cinch.bag.storage.posix")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("dev.cinch.bag.fs", "dev.cinch.bag.storage.posix"));
  }

  @Test
  void bagstoreKnowsOnlyLeaseService() {
    holds(
        noClasses()
            .that()
            .resideInAPackage(BAG)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(VIEW, BACKUP, CLI));
  }

  @Test
  void aggregatorDoesNotKnowTheCommandLine() {
    holds(
        noClasses()
            .that()
            .resideInAnyPackage(VIEW, BACKUP, SQL)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(CLI));
  }

  /** Rule L3: a grant compares numbers. What it needs of the store it asks for, and waits. */
  @Test
  void noGrantReachesTheStore() {
    var reached = new TreeMap<String, JavaClass>();
    reach(all.get("dev.cinch.lease.instance.Operations"), reached);
    reach(all.get("dev.cinch.lease.table.MemoryLeases"), reached);
    assertTrue(reached.containsKey("dev.cinch.lease.rules.LeaseRules"));
    var io =
        equivalentTo(InstanceRegistry.class)
            .or(resideInAnyPackage("java.nio.file..", "java.nio.channels..", "java.net.."))
            .or(assignableTo(InputStream.class))
            .or(assignableTo(File.class));
    for (JavaClass type : reached.values()) {
      for (Dependency to : type.getDirectDependenciesFromSelf()) {
        assertFalse(io.test(to.getTargetClass()), to.getDescription());
      }
    }
  }

  /** All that a class refers to, and so on. */
  private static void reach(JavaClass from, Map<String, JavaClass> reached) {
    if (from.getName().startsWith("dev.cinch.") && reached.put(from.getName(), from) == null) {
      from.getDirectDependenciesFromSelf().forEach(to -> reach(to.getTargetClass(), reached));
    }
  }

  @Test
  void bagstoreNeverSeesALeaseServer() {
    holds(
        noClasses()
            .that()
            .resideInAnyPackage(BAG, VIEW, BACKUP)
            .should()
            .dependOnClassesThat(
                resideInAnyPackage(
                        "dev.cinch.lease.server..",
                        "dev.cinch.lease.instance..",
                        "dev.cinch.lease.table..")
                    .and(not(belongToAnyOf(InstanceRegistry.class)))));
  }

  @Test
  void onlyWitnessesUseBouncyCastle() {
    holds(
        noClasses()
            .that()
            .resideInAPackage("dev.cinch..")
            .and()
            .resideOutsideOfPackage("dev.cinch.lease.witness")
            .and()
            .haveNameNotMatching(".*[.]TlsCommand([$].*)?") // certificates
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.bouncycastle.."));
  }

  @Test
  void onlyTheCommandLineUsesPicocli() {
    holds(
        noClasses()
            .that()
            .resideInAnyPackage(LEASE, BAG, VIEW, BACKUP)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("picocli..", "ch.qos.logback.."));
  }

  @Test
  void onlyOnePackageOfBagstoreTouchesFiles() {
    holds(
        noClasses()
            .that()
            .resideInAPackage(BAG)
            .and()
            .resideOutsideOfPackage("dev.cinch.bag.fs")
            .and() // these are the user's, and of no store
            .haveNameNotMatching("dev[.]cinch[.]bag[.]storage[.]object[.]s3[.](Profile|Metadata)")
            .should()
            .dependOnClassesThat()
            .belongToAnyOf(Files.class, FileChannel.class));
  }

  /** Neither can say whether a request was sent (HttpConnections). */
  @Test
  void nobodyUsesTheClientsOfThePlatform() {
    holds(
        noClasses()
            .that()
            .resideInAnyPackage(LIBRARIES)
            .should()
            .dependOnClassesThat()
            .resideInAPackage("java.net.http")
            .orShould()
            .dependOnClassesThat()
            .belongToAnyOf(HttpURLConnection.class));
  }

  /** Object stores differ in their clients, and the storage knows none of them. */
  @Test
  void objectsKnowNoClient() {
    holds(
        noClasses()
            .that()
            .resideInAnyPackage(BAG)
            .and()
            .resideOutsideOfPackages("dev.cinch.bag", "dev.cinch.bag.storage.object.s3")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("dev.cinch.bag.storage.object.s3"));
  }

  @Test
  void onlyItsModuleCallsEtcd() {
    holds(
        noClasses()
            .that()
            .resideInAPackage("dev.cinch..")
            .and()
            .resideOutsideOfPackage("dev.cinch.lease.etcd")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.etcd..", "io.grpc..", "com.google.protobuf.."));
  }

  @Test
  void onlyTheCommandLineKnowsOfEtcd() {
    holds(
        noClasses()
            .that()
            .resideInAPackage("dev.cinch..")
            .and()
            .resideOutsideOfPackages("dev.cinch.lease.etcd", CLI)
            .should()
            .dependOnClassesThat()
            .resideInAPackage("dev.cinch.lease.etcd"));
  }

  @Test
  void sqlIsAnAddOn() {
    holds(
        noClasses()
            .that()
            .resideInAPackage("dev.cinch..")
            .and()
            .resideOutsideOfPackage("dev.cinch.sql")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("dev.cinch.sql", "org.duckdb..", "org.jline..", "java.sql.."));
  }

  @Test
  void onlyTheServerUsesJetty() {
    holds(
        noClasses()
            .that()
            .resideInAPackage("dev.cinch..")
            .and()
            .resideOutsideOfPackage("dev.cinch.lease.server")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.eclipse.jetty.."));
    holds(
        noClasses()
            .that()
            .resideInAPackage("dev.cinch..")
            .and()
            .resideOutsideOfPackage("dev.cinch.lease.etcd")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.netty.."));
  }

  /** A program that asks a lease service has no HTTP server on its class path. */
  @Test
  void theClientNeedsNoJetty() {
    holds(
        noClasses()
            .that()
            .belongToAnyOf(HttpLeaseClient.class)
            .should()
            .transitivelyDependOnClassesThat()
            .resideInAPackage("org.eclipse.jetty.."));
  }

  @Test
  void librariesKnowNoLoggingButSlf4j() {
    holds(
        classes()
            .that()
            .resideInAnyPackage(LIBRARIES)
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                "dev.cinch..",
                "java..",
                "com.sun.management", // how many descriptors a process may have
                "com.sun.nio.file", // O_DIRECT
                "javax.crypto..", // HMAC of datagrams, of the platform
                "javax.naming..", // names in certificates
                "javax.net.ssl",
                "javax.xml.stream", // answers of S3
                "org.slf4j",
                "org.jspecify.annotations",
                "com.google.errorprone.annotations",
                "com.fasterxml.jackson..",
                "org.bouncycastle..",
                "org.eclipse.jetty..",
                "io.prometheus..",
                "io.etcd..", // and what follows: of lease-service/etcd alone
                "io.grpc..",
                "io.netty..",
                "com.google.protobuf.."));
    holds(
        noClasses()
            .that()
            .resideInAnyPackage(LIBRARIES)
            .should()
            .dependOnClassesThat()
            .resideInAPackage("java.util.logging")
            .orShould()
            .dependOnClassesThat()
            .belongToAnyOf(System.Logger.class)
            .orShould()
            .accessField(System.class, "out")
            .orShould()
            .accessField(System.class, "err"));
  }

  @Test
  void librariesReadClocksAndSleepInOnePlace() {
    holds(
        noClasses()
            .that()
            .resideInAnyPackage(LIBRARIES)
            .and()
            .doNotHaveFullyQualifiedName("dev.cinch.lease.time.SystemTime")
            .should()
            .callMethod(System.class, "currentTimeMillis")
            .orShould()
            .callMethod(System.class, "nanoTime")
            .orShould()
            .callMethod(Instant.class, "now")
            .orShould()
            .callMethod(Thread.class, "sleep", long.class)
            .orShould()
            .callMethod(Thread.class, "sleep", long.class, int.class)
            .orShould()
            .callMethod(TimeUnit.class, "sleep", long.class)
            .orShould()
            .dependOnClassesThat()
            .belongToAnyOf(Clock.class));
  }

  @Test
  void formatsDoNoIoAndReadNoClock() {
    holds(
        noClasses()
            .that()
            .resideInAPackage("dev.cinch.bag.format")
            .should()
            .dependOnClassesThat(
                resideInAnyPackage(
                        "java.io",
                        "java.net..",
                        "java.nio.channels..",
                        "java.nio.file",
                        "java.time")
                    .and(
                        not(
                            belongToAnyOf(
                                IOException.class,
                                NoSuchFileException.class,
                                Path.class)))) // Path: for messages
            .orShould()
            .dependOnClassesThat()
            .resideInAnyPackage("dev.cinch.bag.fs", "dev.cinch.lease.time"));
  }

  /** The rules that all backends share know the vocabulary, and no backend. */
  @Test
  void theRulesOfALeaseArePure() {
    String rules = "dev.cinch.lease.rules";
    assertTrue(all.contain(rules + ".LeaseRules"));
    holds(
        classes()
            .that()
            .resideInAPackage(rules)
            .should()
            .onlyDependOnClassesThat(
                resideInAnyPackage(
                        rules,
                        "dev.cinch.lease",
                        "java.lang",
                        "java.lang.invoke",
                        "java.util",
                        "java.util.function",
                        "java.util.stream",
                        "java.nio",
                        "java.nio.charset",
                        "org.jspecify.annotations",
                        "com.google.errorprone.annotations")
                    .and(not(belongToAnyOf(LeaseService.class, Random.class)))));
  }

  @Test
  void packagesDependOnEachOtherInOneDirection() {
    SliceAssignment packages =
        new SliceAssignment() {
          @Override
          public SliceIdentifier getIdentifierOf(JavaClass javaClass) {
            return SliceIdentifier.of(javaClass.getPackageName());
          }

          @Override
          public String getDescription() {
            return "packages";
          }
        };
    holds(slices().assignedFrom(packages).should().beFreeOfCycles());
  }

  @Test
  void aggregatorWritesSegmentsAndNothingInsideABucket() {
    holds(
        noClasses()
            .that()
            .resideInAPackage(VIEW)
            .and()
            .doNotHaveSimpleName("Aggregator") // publishes segments
            .and()
            .doNotHaveSimpleName("TableBuilder") // publishes files of tables
            .should()
            .callCodeUnitWhere(call("that makes", Storage.class, "draft", "publish", "prepare")));
    holds(
        noClasses()
            .that()
            .doNotHaveFullyQualifiedName(StoreContext.class.getName()) // looks whether it is the
            .and()
            .doNotHaveFullyQualifiedName(LogContext.class.getName()) // store that was opened
            .and()
            .doNotHaveFullyQualifiedName("dev.cinch.bag.NewStore")
            .and()
            .doNotHaveFullyQualifiedName("dev.cinch.bag.NewObjectStore")
            .and()
            .doNotHaveFullyQualifiedName("dev.cinch.bag.NewStore$FirstKey")
            .and()
            .resideOutsideOfPackage("dev.cinch.bag.storage..")
            .should()
            .callCodeUnitWhere(call("that publishes", Storage.class, "publish")));
    holds(
        noClasses()
            .that()
            .resideInAPackage(VIEW)
            .and()
            .doNotHaveSimpleName("Retention") // publishes checkpoints
            .and()
            .doNotHaveSimpleName("Expiry") // publishes floors
            .and()
            .doNotHaveSimpleName("DeltaLog") // publishes commits
            .should()
            .callCodeUnitWhere(call("that publishes", LogContext.class, "publish")));
    holds(
        noClasses()
            .that()
            .resideInAPackage(VIEW)
            .should()
            .callCodeUnitWhere(
                call("that writes", StoreFs.class, "create", "link", "append", "overwrite", "mkdir")
                    .or(call("that writes", Fresh.class, "publish", "ensureDirectory"))
                    .or(call("that writes", Storage.class, "enter", "seal"))));
    holds(
        noClasses()
            .that()
            .haveSimpleName("Aggregator")
            .should()
            .callCodeUnitWhere(
                call("of a bucket", LogLayout.class, "bucket", "prelock", "lock", "dataFile")));
  }

  private static DescribedPredicate<JavaCall<?>> call(
      String what, Class<?> owner, String... methods) {
    return DescribedPredicate.describe(
        what,
        c ->
            c.getTargetOwner().isAssignableTo(owner)
                && List.of(methods).contains(c.getTarget().getName()));
  }

  /** Where an ignored result loses data: whoever calls these must look at what they say. */
  @Test
  void resultsOfWhatUsersCallAreLookedAt() {
    holds(
        classes()
            .that()
            .resideInAnyPackage(
                "dev.cinch.bag",
                "dev.cinch.bag.write",
                "dev.cinch.bag.close",
                "dev.cinch.lease",
                "dev.cinch.lease.hold",
                "dev.cinch.view")
            .and()
            .arePublic()
            .and()
            .areTopLevelClasses()
            .and()
            .areNotRecords()
            .and()
            .areNotEnums()
            .and()
            .areNotAssignableTo(Throwable.class)
            .and()
            .doNotHaveSimpleName("package-info")
            .should()
            .beAnnotatedWith(CheckReturnValue.class));
  }
}
