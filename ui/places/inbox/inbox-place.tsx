/**
 * The inbox: captured mail as it comes. Inboxes at the left, the list, one mail; on a narrow screen one after the other. What
 * is looked for and which mail is open stand in the address.
 */

import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo, useRef, useState } from 'react';
import { captureId, listInboxes } from '../../api/captures.ts';
import { KeysHelp } from '../../components/keys-help.tsx';
import { TWO_PANES, useMedia } from '../../components/media.ts';
import { OfflineBanner } from '../../components/offline-banner.tsx';
import { Title } from '../../components/page.tsx';
import { useCursor } from '../../components/use-cursor.ts';
import { useKeys } from '../../components/use-keys.ts';
import { type RowsHandle, VirtualRows } from '../../components/virtual-rows.tsx';
import { CaptureRow, ROW_PX } from './capture-row.tsx';
import { InboxList } from './inbox-list.tsx';
import { InboxSide, joinInboxes } from './inbox-side.tsx';
import { ListBar } from './list-bar.tsx';
import { MailPane } from './mail-pane.tsx';
import { readSearch, SEARCH_HELP } from './search-words.ts';
import { INBOXES, useCaptures } from './use-captures.ts';

const NONE: ReadonlySet<string> = new Set();
const KEY_HELP = [
  ['j', 'next mail'],
  ['k', 'previous mail'],
  ['Enter', 'open the mail, and go to it'],
  ['u', 'back to the list'],
  ['x', 'select'],
  ['e', 'mark as read, or as unread'],
  ['#', 'delete'],
  ['/', 'search'],
  ['Esc', 'clear the selection or the search'],
  ['?', 'these keys'],
] as const;

export function InboxPlace() {
  const { q = '', inbox } = useSearch({ from: '/inbox' });
  const { id: openId = null } = useParams({ strict: false });
  const navigate = useNavigate();
  const twoPanes = useMedia(TWO_PANES);
  const { filters, problem } = useMemo(() => readSearch(q, Date.now()), [q]);
  const wanted = useMemo(
    () => ({ ...filters, ...(inbox === undefined ? {} : { Inbox: inbox }) }),
    [filters, inbox],
  );
  const captures = useCaptures(wanted, JSON.stringify(wanted));
  const { items } = captures;
  const inboxes = useQuery({
    queryKey: INBOXES,
    queryFn: ({ signal }) => listInboxes(signal),
    select: joinInboxes,
    refetchOnWindowFocus: true,
  });
  const [selected, setSelected] = useState(NONE);
  const rows = useRef<RowsHandle>(null);
  const mail = useRef<HTMLElement>(null);
  const [showsKeys, setShowsKeys] = useState(false);

  const goTo = useCallback(
    (id: string | null) =>
      id === null
        ? navigate({ to: '/inbox', search: true })
        : navigate({ to: '/inbox/$id', params: { id }, search: true, replace: openId !== null }),
    [navigate, openId],
  );
  const toggle = useCallback((id: string) => {
    setSelected((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  }, []);
  const { cursorId, step } = useCursor({
    ...{ items, idOf: captureId, openId, rows },
    onStep: (id) => (twoPanes || openId !== null) && void goTo(id),
  });
  /** Of the selection: what is in this list, and not gone meanwhile. */
  const picked = selected.size === 0 ? [] : items.map(captureId).filter((id) => selected.has(id));
  /** What a key acts on: the selection, else the mail where the reader is. */
  const chosen = (): readonly string[] => (picked.length > 0 ? picked : cursorId === null ? [] : [cursorId]);
  const remove = (ids: readonly string[]): void => {
    const gone = new Set(ids);
    if (openId !== null && gone.has(openId)) {
      const at = items.findIndex((item) => item.ID === openId);
      const next = items.slice(at + 1).find((item) => !gone.has(item.ID));
      void goTo(twoPanes ? (next?.ID ?? null) : null);
    }
    setSelected(NONE);
    captures.remove(ids);
  };
  const markChosen = (): void => {
    const ids = chosen();
    const anyUnread = items.some((item) => ids.includes(item.ID) && item.SeenAt === null);
    captures.mark(ids, anyUnread);
    setSelected(NONE);
  };
  const setQuery = (words: string, replace = false): void => {
    void navigate({
      to: '/inbox',
      replace,
      search: { ...(inbox === undefined ? {} : { inbox }), ...(words === '' ? {} : { q: words }) },
    });
  };

  useKeys({
    j: () => step(1),
    k: () => step(-1),
    Enter() {
      if (cursorId === null) return;
      void goTo(cursorId);
      mail.current?.focus();
    },
    u: () => void goTo(null),
    x: () => cursorId !== null && toggle(cursorId),
    e: markChosen,
    '#': () => captures.mayRemove && remove(chosen()),
    '?': () => setShowsKeys(true),
    Escape() {
      if (picked.length > 0) setSelected(NONE);
      else if (q !== '') setQuery('');
    },
  });

  return (
    <div className="flex h-full flex-col" role={twoPanes || openId !== null ? undefined : 'main'}>
      {openId === null && (
        <Title className="sr-only" onKeyDown={(event) => rows.current?.takeKey(event)}>
          Inbox
        </Title>
      )}
      <OfflineBanner error={captures.lost} />
      <div className="flex min-h-0 flex-1 bg-surface">
        <InboxSide inboxes={inboxes.data ?? []} current={inbox} />
        {(twoPanes || openId === null) && (
          <section
            aria-label="Mail"
            className="flex w-full min-w-0 flex-col border-line md:border-r min-[54rem]:w-80 min-[54rem]:shrink-0 min-[90rem]:w-96"
          >
            <ListBar
              words={q}
              problem={problem}
              onWords={setQuery}
              inboxes={inboxes.data ?? []}
              inbox={inbox}
              selected={picked.length}
              onClear={() => setSelected(NONE)}
              onMark={markChosen}
              onRemove={() => remove(chosen())}
              onMarkAll={captures.markAll}
              onRemoveAll={captures.removeAll}
              onKeys={() => setShowsKeys(true)}
            />
            <InboxList
              captures={captures}
              words={q}
              isNarrowed={q !== '' || inbox !== undefined}
              showsFirst={!twoPanes}
              onEverything={() => void navigate({ to: '/inbox' })}
            >
              <VirtualRows
                ref={rows}
                label="Captured mail"
                items={items}
                idOf={captureId}
                rowPx={ROW_PX}
                readsOn={captures.readsOn}
                onMore={captures.loadMore}
                onSight={captures.look}
                currentId={cursorId}
                left={captures.left}
                row={(item) => (
                  <CaptureRow
                    item={item}
                    isOpen={item.ID === openId}
                    isCursor={item.ID === cursorId}
                    isSelected={selected.has(item.ID)}
                    isSelecting={picked.length > 0}
                    onToggle={toggle}
                  />
                )}
              />
            </InboxList>
          </section>
        )}
        {(twoPanes || openId !== null) && (
          <MailPane
            ref={mail}
            id={openId}
            isEmpty={captures.state === 'ready' && items.length === 0 && q === '' && inbox === undefined}
            hasChoice={items.length > 0}
            onBack={() => void goTo(null)}
            onDelete={(id) => remove([id])}
            onMark={captures.mark}
          />
        )}
      </div>
      {showsKeys && <KeysHelp keys={KEY_HELP} words={SEARCH_HELP} onClose={() => setShowsKeys(false)} />}
    </div>
  );
}
