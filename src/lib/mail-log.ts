/**
 * Writes the lines of the mail log. There are two per message, so fields must be flat and are not inspected in depth,
 * and all lines of one turn of the event loop go to the destination as one text. The format is that of the service log:
 * level, time, stream, fields, sentence. A crash loses the lines of the current turn.
 */

type Fields = Readonly<Record<string, unknown>>;
type Write = (fields: Fields, message: string) => void;

const RANKS = { debug: 20, info: 30, warn: 40, error: 50, silent: 100 } as const;

/** `shape` returns the fields as they may be written. Lines below `level` are dropped first. */
export function createMailLog(
  destination: { write(text: string): unknown },
  level: keyof typeof RANKS,
  shape: (fields: Fields) => Fields,
): { debug: Write; info: Write; warn: Write; error: Write } {
  let lines = '';
  let atMs = 0;
  let time = '';

  return { debug: writer('debug'), info: writer('info'), warn: writer('warn'), error: writer('error') };

  function writer(name: 'debug' | 'info' | 'warn' | 'error'): Write {
    if (RANKS[name] < RANKS[level]) return () => {};
    const head = `{"level":"${name}","time":"`;
    return (fields, message) => {
      const text = JSON.stringify(shape(fields));
      const rest = text === '{}' ? '' : `,${text.slice(1, -1)}`;
      if (lines === '') setImmediate(flush);
      lines += `${head}${timeNow()}","stream":"mail"${rest},"msg":${JSON.stringify(message)}}\n`;
    };
  }

  function timeNow(): string {
    const now = Date.now();
    if (now !== atMs) {
      atMs = now;
      time = new Date(now).toISOString();
    }
    return time;
  }

  function flush(): void {
    const text = lines;
    lines = '';
    destination.write(text);
  }
}
