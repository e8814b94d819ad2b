package dev.cinch.sim.mutation;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/** Where methods, constructors and fields stand in a source. The compiler's parser says so. */
final class Members {
  /**
   * A member of a class.
   *
   * @param name after those of its classes, with dots between; a constructor has its class's name
   * @param from where its text begins, behind its comment
   * @param to where it ends
   */
  record Member(String name, int from, int to) {
    /** Whether it is meant by this name, which may leave out outer classes. */
    boolean is(String wanted) {
      return ("." + name).endsWith("." + wanted);
    }
  }

  private final List<Member> all = new ArrayList<>();
  private final SourcePositions positions;
  private final CompilationUnitTree unit;

  private Members(SourcePositions positions, CompilationUnitTree unit) {
    this.positions = positions;
    this.unit = unit;
    unit.getTypeDecls().forEach(type -> add("", type));
  }

  /** All members of all classes but anonymous ones, in the order of the text. */
  static List<Member> of(String text) {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    var task =
        (JavacTask)
            compiler.getTask(
                null, null, problem -> {}, null, null, List.of(new Mutant.Source("Any", text)));
    try {
      CompilationUnitTree unit = task.parse().iterator().next();
      return new Members(Trees.instance(task).getSourcePositions(), unit).all;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void add(String outer, Tree tree) {
    if (tree instanceof ClassTree type) {
      String name = outer + type.getSimpleName();
      type.getMembers().forEach(member -> add(name + ".", member));
    } else if (tree instanceof MethodTree method) {
      String name = method.getName().toString();
      String[] classes = outer.split("\\.");
      keep(outer + (name.equals("<init>") ? classes[classes.length - 1] : name), method);
    } else if (tree instanceof VariableTree field) {
      keep(outer + field.getName(), field);
    }
  }

  private void keep(String name, Tree tree) {
    long from = positions.getStartPosition(unit, tree);
    long to = positions.getEndPosition(unit, tree);
    if (from >= 0 && to > from) {
      all.add(new Member(name, (int) from, (int) to));
    }
  }
}
