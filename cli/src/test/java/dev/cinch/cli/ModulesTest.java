package dev.cinch.cli;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Who may know whom: cli → aggregator → bagstore → lease-service. */
@SuppressWarnings("NullAway.Init")
class ModulesTest {
  private static final String LEASE = "dev.cinch.lease..";
  private static final String BAG = "dev.cinch.bag..";
  private static final String VIEW = "dev.cinch.view..";
  private static final String CLI = "dev.cinch.cli..";

  private static JavaClasses classes;

  @BeforeAll
  static void read() {
    classes =
        new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .withImportOption(location -> !location.contains("-tests.jar"))
            .importPackages("dev.cinch");
    for (String name : new String[] {"lease.LeaseService", "bag.Store", "cli.Main"}) {
      assertTrue(classes.contain("dev.cinch." + name), name); // or the rules would hold emptily
    }
  }

  private static void holds(ArchRule rule) {
    rule.allowEmptyShould(true).check(classes);
  }

  @Test
  void leaseServiceKnowsNoSibling() {
    holds(
        noClasses()
            .that()
            .resideInAPackage(LEASE)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(BAG, VIEW, CLI));
  }

  @Test
  void bagstoreKnowsOnlyLeaseService() {
    holds(
        noClasses()
            .that()
            .resideInAPackage(BAG)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(VIEW, CLI));
  }

  @Test
  void aggregatorDoesNotKnowTheCommandLine() {
    holds(
        noClasses()
            .that()
            .resideInAPackage(VIEW)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(CLI));
  }

  @Test
  void bagstoreNeverSeesALeaseServer() {
    holds(
        noClasses()
            .that()
            .resideInAnyPackage(BAG, VIEW)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("dev.cinch.lease.http..", "dev.cinch.lease.memory.."));
  }

  @Test
  void onlyWitnessesUseBouncyCastle() {
    holds(
        noClasses()
            .that()
            .resideInAPackage("dev.cinch..")
            .and()
            .resideOutsideOfPackage("dev.cinch.lease.witness")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.bouncycastle.."));
  }

  @Test
  void onlyTheCommandLineUsesPicocliAndLogback() {
    holds(
        noClasses()
            .that()
            .resideInAnyPackage(LEASE, BAG, VIEW)
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
            .should()
            .dependOnClassesThat()
            .belongToAnyOf(Files.class, FileChannel.class));
  }

  @Test
  void onlyTheServerUsesVertx() {
    holds(
        noClasses()
            .that()
            .resideInAPackage("dev.cinch..")
            .and()
            .resideOutsideOfPackage("dev.cinch.lease.http")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.vertx.."));
  }
}
