/** The inbox: captured mail as it comes. */
import { useEffect, useState, useSyncExternalStore } from 'react';
import { ApiError } from '../../api/call.ts';
import { Notice } from '../../components/notice.tsx';
import { openCaptureList } from './capture-list.ts';
import { TokenNeeded } from './token-needed.tsx';

export function InboxPlace() {
  const [list, setList] = useState<ReturnType<typeof openCaptureList> | null>(null);
  useEffect(() => {
    const opened = openCaptureList({}, () => {});
    setList(opened);
    return () => opened.close();
  }, []);
  return list === null ? null : <Captures list={list} />;
}

function Captures({ list }: { list: ReturnType<typeof openCaptureList> }) {
  const { items, state, error } = useSyncExternalStore(list.subscribe, list.snapshot);
  if (error instanceof ApiError && error.status === 401) return <TokenNeeded />;
  if (state === 'failed') return <Notice title="The list cannot be read">{String(error)}</Notice>;
  return (
    <main className="p-4">
      <h1 className="text-lg font-semibold">Inbox</h1>
      <ul className="mt-2">
        {items.map((item) => (
          <li key={item.ID}>{item.Subject}</li>
        ))}
      </ul>
    </main>
  );
}
