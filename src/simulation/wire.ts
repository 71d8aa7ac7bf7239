/**
 * What the far ends saw: every transaction with its result there, and the connections open at each time. They are the
 * only observers independent of the engine, so the promises about deliveries are checked with their records.
 */

/** One MAIL and one of its recipients, and how it went on; several recipients of one MAIL are one each. */
export interface WireTransaction {
  deliveryId: number;
  /** Null until RCPT. */
  address: string | null;
  site: string;
  source: string;
  /** Monotonic time at which MAIL arrived. */
  atMs: number;
  /** When the whole message had arrived; null = it never did: an envelope alone may still be withdrawn. */
  bodyAtMs: number | null;
  /** Of the message that came with it. */
  messageId: string | null;
  /** When the far end accepted the message; null = it did not. */
  takenAtMs: number | null;
  /** When the reply to the final dot was sent to the process; null = it was not. */
  confirmedAtMs: number | null;
  /** It was refused because of the sender's address or connection, which must not count against the message. */
  blamedPath: boolean;
  /** Its connection was under TLS. */
  secure: boolean;
  /** When its connection was opened. */
  openedAtMs: number;
}

export interface OpenConnection {
  site: string;
  source: string;
  /** Which process opened it, 1 = the first. */
  process: number;
  messages: number;
}

/** Called when a connection or a transaction begins; records violations of the promises. */
export interface WireWatch {
  opened(connection: OpenConnection, open: { path: number; provider: number }): void;
  mail(connection: OpenConnection): void;
  /** It is known for whom a transaction is. */
  envelope(transaction: WireTransaction): void;
  taken?(transaction: WireTransaction, atMs: number): void;
}

export interface Wire {
  readonly transactions: readonly WireTransaction[];
  readonly open: ReadonlySet<OpenConnection>;
  /** Transactions of one delivery, oldest first. */
  of(deliveryId: number): readonly WireTransaction[];
  openNow(site: string, source?: string): number;
  connect(connection: OpenConnection): void;
  disconnect(connection: OpenConnection): void;
  /** MAIL has come. */
  begin(connection: OpenConnection): void;
  /** It is known for whom it is: for each recipient once. */
  envelope(transaction: WireTransaction): void;
  /** The far end hung up before it read this. */
  unread(transaction: WireTransaction): void;
  /** The far end has the whole message. */
  take(transaction: WireTransaction, atMs: number): void;
  /** Most connections at a time, over all sites. */
  readonly peak: number;
}

export function createWire(
  watch: WireWatch,
  sitesBeside: (site: string) => readonly string[],
  options: { keep: boolean },
): Wire {
  const transactions: WireTransaction[] = [];
  const byDelivery = new Map<number, WireTransaction[]>();
  const open = new Set<OpenConnection>();
  const counts = new Map<string, number>();
  let peak = 0;

  const add = (site: string, source: string, by: number) => {
    for (const key of [site, `${source}>${site}`]) counts.set(key, (counts.get(key) ?? 0) + by);
  };
  const openNow = (site: string, source?: string) =>
    counts.get(source === undefined ? site : `${source}>${site}`) ?? 0;

  const keep = (transaction: WireTransaction) => {
    if (!options.keep) return;
    transactions.push(transaction);
    const known = byDelivery.get(transaction.deliveryId);
    if (known === undefined) byDelivery.set(transaction.deliveryId, [transaction]);
    else known.push(transaction);
  };

  return {
    transactions,
    open,
    of: (deliveryId) => byDelivery.get(deliveryId) ?? [],
    openNow,
    connect(connection) {
      const { site, source } = connection;
      open.add(connection);
      add(site, source, 1);
      peak = Math.max(peak, open.size);
      const provider = sitesBeside(site).reduce((sum, other) => sum + openNow(other, source), 0);
      watch.opened(connection, { path: openNow(site, source), provider });
    },
    disconnect(connection) {
      if (open.delete(connection)) add(connection.site, connection.source, -1);
    },
    unread: keep,
    begin(connection) {
      connection.messages += 1;
      watch.mail(connection);
    },
    envelope(transaction) {
      keep(transaction);
      watch.envelope(transaction);
    },
    take(transaction, atMs) {
      transaction.takenAtMs = atMs;
      watch.taken?.(transaction, atMs);
    },
    get peak() {
      return peak;
    },
  };
}
