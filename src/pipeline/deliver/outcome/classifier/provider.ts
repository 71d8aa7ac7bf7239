/**
 * The mail provider of a host: by the suffix of its MX name, otherwise by a text in its reply. The table is
 * providers.json. Rules of a provider apply only to its own replies.
 */

export interface Provider {
  id: string;
  /** MX name endings, lower-case, each with its leading dot. */
  suffixes: readonly string[];
  /** Texts (lower-case) that only this provider writes. */
  marks: readonly string[];
}

export interface Providers {
  /** Provider of an MX host name, or null. `mx` may end with a dot, or be followed by an address or a port. */
  ofHost(mx: string): string | null;
  /** Provider whose typical text is in a normalised reply, or null. */
  ofText(subject: string): string | null;
  readonly ids: ReadonlySet<string>;
}

export function createProviders(table: readonly Provider[]): Providers {
  const suffixes = table.flatMap(({ id, suffixes: of }) => of.map((suffix) => ({ id, suffix })));
  const marks = table.flatMap(({ id, marks: of }) => of.map((mark) => ({ id, mark })));
  return {
    ofHost(mx) {
      const name = `.${mx.slice(0, 300).trim().toLowerCase().split(/[ [:]/, 1)[0] ?? ''}`.replace(/\.$/, '');
      return suffixes.find(({ suffix }) => name.endsWith(suffix))?.id ?? null;
    },
    ofText: (subject) => marks.find(({ mark }) => subject.includes(mark))?.id ?? null,
    ids: new Set(table.map(({ id }) => id)),
  };
}
