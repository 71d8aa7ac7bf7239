/** Reads a file that somebody chooses: CSV with any common separator, JSON, or one JSON object a line. */

import { useEffect, useId, useRef, useState } from 'react';
import { bytesText } from '../../../components/bytes.ts';
import { messageOf } from '../../../components/toasts.tsx';
import { type OpenFile, openFile } from './open-file.ts';

/** Read as a whole, in memory of the browser. */
const MAX_BYTES = 64_000_000;

export function FileChoice({ onFile }: { onFile(file: OpenFile | null): void }) {
  const id = useId();
  const [problem, setProblem] = useState('');
  const [isReading, setReading] = useState(false);
  const last = useRef(0);
  // A file that is still being read is closed when the page is left.
  useEffect(
    () => () => {
      last.current += 1;
    },
    [],
  );
  const read = async (file: File | undefined): Promise<void> => {
    last.current += 1;
    const mine = last.current;
    setProblem('');
    setReading(false);
    onFile(null);
    if (file === undefined) return;
    if (file.size > MAX_BYTES) {
      setProblem(`The file has ${bytesText(file.size)}: import one of this size with the command line.`);
      return;
    }
    setReading(true);
    try {
      const opened = await openFile(file);
      // Meanwhile another one was chosen.
      if (mine === last.current) onFile(opened);
      else opened.close();
    } catch (error) {
      if (mine === last.current) setProblem(messageOf(error));
    }
    if (mine === last.current) setReading(false);
  };
  return (
    <div className="grid content-start gap-1">
      <label htmlFor={id} className="font-semibold">
        File
      </label>
      <input
        id={id}
        type="file"
        accept=".csv,.tsv,.txt,.json,.ndjson,.jsonl,text/csv,application/json"
        aria-describedby={`${id}-hint`}
        onChange={(event) => void read(event.target.files?.[0])}
        className="h-9 w-full min-w-0 rounded-md border border-line-strong bg-surface text-soft file:mr-3 file:h-full file:border-line-strong file:border-r file:bg-hover file:px-3 file:text-ink"
      />
      {problem !== '' && (
        <p role="alert" className="text-bad text-xs">
          {problem}
        </p>
      )}
      <p id={`${id}-hint`} role="status" className="text-soft text-xs">
        {isReading
          ? 'The file is being read…'
          : 'CSV or JSON, also as other services export it. It is read in this browser.'}
      </p>
    </div>
  );
}
