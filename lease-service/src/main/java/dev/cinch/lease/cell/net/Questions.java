package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.Outbox;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What a node asks all acceptors: for single names, and for lists of them. Not thread-safe. */
final class Questions {
  private final CellParts parts;
  private final int majority;
  private final Timers attempts;
  private final Outbox out;
  private final Map<Bytes, List<Inquiry>> inquiries = new HashMap<>();
  private final List<Listing> listings = new ArrayList<>();
  private long askedAt = -1;

  /** Of questions for names, so that each answer is known for one to the last of them. */
  private long tokens;

  /**
   * @param attempts who finds a question due calls {@code wake}
   */
  Questions(CellParts parts, int majority, Timers attempts, Outbox out) {
    this.parts = parts;
    this.majority = majority;
    this.attempts = attempts;
    this.out = out;
  }

  /** For how many names it asks. */
  int names() {
    return inquiries.size();
  }

  /** When it was last known whether a majority answers; -1 if it never was. */
  long askedAt() {
    return askedAt;
  }

  void begin(Inquiry inquiry, long now) {
    inquiries.computeIfAbsent(inquiry.name, name -> new ArrayList<>(1)).add(inquiry);
    ask(inquiry, now);
  }

  void begin(Listing listing, long now) {
    listings.add(listing);
    ask(listing, now);
  }

  void wake(Inquiry inquiry, long now) {
    if (now >= inquiry.giveUpAt) {
      end(inquiry, false);
    } else {
      ask(inquiry, now);
    }
  }

  void wake(Listing listing, long now) {
    if (now >= listing.giveUpAt) {
      end(listing, false);
    } else {
      ask(listing, now);
    }
  }

  private void ask(Inquiry inquiry, long now) {
    attempts.set(inquiry, Math.min(inquiry.giveUpAt, now + parts.settings().resendNanos()));
    for (int node : parts.nodes()) {
      if (!inquiry.hasAnswered(node)) {
        out.send(node, new Message.Query(inquiry.name));
      }
    }
  }

  private void ask(Listing listing, long now) {
    attempts.set(listing, Math.min(listing.giveUpAt, now + parts.settings().resendNanos()));
    parts.nodes().forEach(node -> ask(listing, node));
  }

  private void ask(Listing listing, int node) {
    listing.next(node, ++tokens).ifPresent(names -> out.send(node, names));
  }

  void named(int from, Message.Named named, long now) {
    for (Listing listing : List.copyOf(listings)) {
      if (listing.take(from, named)) {
        attempts.set(listing, Math.min(listing.giveUpAt, now + parts.settings().resendNanos()));
        ask(listing, from);
      } else if (listing.enough() >= majority) {
        end(listing, true);
      }
    }
  }

  private void end(Listing listing, boolean enough) {
    attempts.cancel(listing);
    listings.remove(listing);
    listing.complete(enough);
  }

  void told(int from, Message.Told told) {
    List<Inquiry> asked = inquiries.get(told.name());
    if (asked != null) {
      for (Inquiry inquiry : List.copyOf(asked)) {
        if (inquiry.add(from, told.memory()) >= majority) {
          end(inquiry, true);
        }
      }
    }
  }

  private void end(Inquiry inquiry, boolean enough) {
    askedAt = parts.clock().getAsLong();
    attempts.cancel(inquiry);
    List<Inquiry> asked = inquiries.get(inquiry.name);
    if (asked != null && asked.remove(inquiry) && asked.isEmpty()) {
      inquiries.remove(inquiry.name);
    }
    inquiry.complete(enough);
  }

  void close() {
    inquiries.values().forEach(asked -> asked.forEach(Inquiry::close));
    listings.forEach(Listing::close);
  }
}
