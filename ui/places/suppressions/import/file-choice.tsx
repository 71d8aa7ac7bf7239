/** Reads a file that somebody chooses: CSV with any common separator, JSON, or one JSON object a line. */
import { useId, useState } from 'react';
import { type ImportSheet, readSheet } from '../../../../src/policy/suppressions/import-file.ts';
import { bytesText } from '../../../components/bytes.ts';

/** Read as a whole, in the browser. */
const MAX_BYTES = 64_000_000;

export function FileChoice({ onSheet }: { onSheet(sheet: ImportSheet | null): void }) {
  const id = useId();
  const [problem, setProblem] = useState('');
  const read = async (file: File | undefined): Promise<void> => {
    setProblem('');
    onSheet(null);
    if (file === undefined) return;
    if (file.size > MAX_BYTES) {
      setProblem(`The file has ${bytesText(file.size)}: import one of this size with the command line.`);
      return;
    }
    try {
      onSheet(readSheet(await file.text()));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
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
        className="min-h-9 w-full min-w-0 rounded-md border border-line-strong bg-surface text-soft file:mr-3 file:min-h-9 file:border-line-strong file:border-r file:bg-hover file:px-3 file:text-ink"
      />
      {problem !== '' && (
        <p role="alert" className="text-bad text-xs">
          {problem}
        </p>
      )}
      <p id={`${id}-hint`} className="text-soft text-xs">
        CSV or JSON, also as other services export it. It is read in this browser.
      </p>
    </div>
  );
}
