package dev.cinch.bag.storage.object.s3;

import com.google.errorprone.annotations.CheckReturnValue;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/**
 * An element of a document that a server sent. Documents refer to nothing else: one that declares a
 * type is refused. Immutable once it was read.
 *
 * @param text of an element without children
 */
@CheckReturnValue
record Xml(String name, String text, List<Xml> children) {
  private static final int MOST_DEEP = 8;

  /**
   * Reads a document, whose bytes are bounded by who asks.
   *
   * @throws IOException if it is none
   */
  static Xml read(byte[] document) throws IOException {
    XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
    factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
    factory.setProperty(XMLInputFactory.IS_SUPPORTING_EXTERNAL_ENTITIES, false);
    factory.setProperty(XMLInputFactory.IS_COALESCING, true);
    try {
      XMLStreamReader in = factory.createXMLStreamReader(new ByteArrayInputStream(document));
      while (next(in) != XMLStreamConstants.START_ELEMENT) {
        // What stands before the root says nothing.
      }
      Xml root = element(in, 1);
      while (in.hasNext()) {
        int unused = next(in);
      }
      return root;
    } catch (XMLStreamException e) {
      throw new IOException("the answer is no XML", e);
    }
  }

  private static int next(XMLStreamReader in) throws IOException, XMLStreamException {
    int event = in.next();
    if (event == XMLStreamConstants.DTD || event == XMLStreamConstants.ENTITY_REFERENCE) {
      throw new IOException("the answer's XML declares a type");
    }
    return event;
  }

  private static Xml element(XMLStreamReader in, int depth) throws IOException, XMLStreamException {
    if (depth > MOST_DEEP) {
      throw new IOException("the answer's XML is too deep");
    }
    String name = in.getLocalName();
    var text = new StringBuilder();
    var children = new ArrayList<Xml>();
    for (int event = next(in); event != XMLStreamConstants.END_ELEMENT; event = next(in)) {
      if (event == XMLStreamConstants.START_ELEMENT) {
        children.add(element(in, depth + 1));
      } else if (event == XMLStreamConstants.CHARACTERS || event == XMLStreamConstants.SPACE) {
        text.append(in.getText());
      }
    }
    return new Xml(name, children.isEmpty() ? text.toString() : "", children);
  }

  /** The children of a name. */
  List<Xml> all(String child) {
    return children.stream().filter(c -> c.name().equals(child)).toList();
  }

  /** The text of a child; empty if there is none. */
  Optional<String> get(String child) {
    return children.stream().filter(c -> c.name().equals(child)).map(Xml::text).findFirst();
  }
}
