package dev.cinch.cli.base;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A slip in a log's name makes no log by accident, and names that are meant are not in the way. */
class NearestTest {
  @TempDir Path temp;

  @ParameterizedTest
  @CsvSource({
    "jbos,jobs",
    "job,jobs",
    "jobss,jobs",
    "jobx,jobs",
    "my-jobs,my_jobs",
    "myjobs,my-jobs",
    "orders.eu,orders-eu",
    "oder-evnets,order-events",
    "audit-2025,audti-2025",
    "resuts,results",
    "transactoins,transactions",
    "trnsactoins,transactions",
    "log,lgo",
    "ajobs,jobs"
  })
  void slips(String typed, String meant) {
    assertTrue(Nearest.isNear(typed, meant), typed);
    assertTrue(Nearest.isNear(meant, typed), meant);
  }

  @ParameterizedTest
  @CsvSource({
    "job-1,job-2",
    "job-1,job-11",
    "job1,job",
    "2026-11,2026-12",
    "jobs-1,job-2",
    "shard-a,shard-b",
    "eu,us",
    "orders-eu,orders-us",
    "in,out",
    "cat,car",
    "internal,external",
    "a,b",
    "ab,a",
    "orders-in,orders-out",
    "jobs,results",
    "1,2",
    "job-1-1,job-11"
  })
  void namesThatAreMeant(String one, String other) {
    assertFalse(Nearest.isNear(one, other), one);
    assertFalse(Nearest.isNear(other, one), other);
  }
}
