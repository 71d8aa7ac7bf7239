/** Saves what is found as CSV, read a page after the other. */
import { Download } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { csvLine } from '../../../src/lib/csv.ts';
import type { Query } from '../../api/call.ts';
import { everySuppression } from '../../api/suppressions.ts';
import { Button } from '../../components/button.tsx';
import { downloadText } from '../../components/download.ts';
import { toast, toastError } from '../../components/toasts.tsx';

/** The columns of `suppress export`, which the import reads again. */
const COLUMNS = [
  ...(['Email', 'Reason', 'Note', 'ExpiresAt'] as const),
  ...(['Domain', 'CreatedAt', 'MessageID', 'Reply', 'Rule'] as const),
] as const;

export function ExportButton({ filters }: { filters: Query }) {
  const [count, setCount] = useState<number | null>(null);
  const ended = useRef<AbortController | null>(null);
  useEffect(() => () => ended.current?.abort(), []);
  const run = async (): Promise<void> => {
    const mine = new AbortController();
    ended.current = mine;
    setCount(0);
    const lines = [csvLine(COLUMNS)];
    try {
      for await (const { Items } of everySuppression(filters, mine.signal)) {
        for (const item of Items) lines.push(csvLine(COLUMNS.map((name) => item[name] ?? '')));
        setCount(lines.length - 1);
      }
      downloadText(lines.join(''), 'suppressions.csv', 'text/csv');
      toast({ text: `${(lines.length - 1).toLocaleString()} entries saved` });
    } catch (error) {
      if (!mine.signal.aborted) toastError(error);
    }
    setCount(null);
  };
  return count === null ? (
    <Button onClick={() => void run()}>
      <Download size={14} aria-hidden /> Export
    </Button>
  ) : (
    <Button onClick={() => ended.current?.abort()}>
      <span className="tabular-nums">{count.toLocaleString()} read</span> · Stop
    </Button>
  );
}
