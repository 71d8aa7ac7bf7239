/**
 * The messages: everything that was accepted, newest first, and one of them with what became of it. What is looked for and
 * which message is open stand in the address.
 */

import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Keyboard, Mail, SearchX } from 'lucide-react';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Query } from '../../api/call.ts';
import { ME, mayDo } from '../../api/me.ts';
import { messageIdOf, messageSource } from '../../api/messages.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { KeysHelp } from '../../components/keys-help.tsx';
import { ListState } from '../../components/list-state.tsx';
import { useMedia } from '../../components/media.ts';
import { Notice } from '../../components/notice.tsx';
import { OfflineBanner } from '../../components/offline-banner.tsx';
import { Title } from '../../components/page.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { useCursor } from '../../components/use-cursor.ts';
import { useKeys } from '../../components/use-keys.ts';
import { useLiveList } from '../../components/use-live-list.ts';
import { type RowsHandle, VirtualRows } from '../../components/virtual-rows.tsx';
import { FilterChips } from './filter-chips.tsx';
import { LINES_PX, MessageRow, TABLE_PX } from './message-row.tsx';
import { MessagePage } from './page/message-page.tsx';
import { readSearch, SEARCH_HELP } from './search-words.ts';

/** From this width on, an open message is shown beside the list. */
const BESIDE = '(min-width: 64rem)';
const KEY_HELP = [
  ['j', 'next message'],
  ['k', 'previous message'],
  ['Enter', 'open the message'],
  ['u', 'back to the list'],
  ['/', 'search'],
  ['Ctrl K', 'look for an address from anywhere'],
  ['?', 'these keys'],
] as const;

export function MessagesPlace() {
  const { q = '' } = useSearch({ from: '/messages' });
  const { id: openId = null } = useParams({ strict: false });
  const navigate = useNavigate();
  const beside = useMedia(BESIDE);
  const search = useMemo(() => readSearch(q, Date.now()), [q]);
  const { filters, messageId, problem } = search;
  const [list, live, left] = useLiveList(() => messageSource(filters), JSON.stringify(filters));
  const { items } = list;
  const isTable = beside && openId === null;
  const rowPx = isTable ? TABLE_PX : LINES_PX;
  const rows = useRef<RowsHandle>(null);
  const [showsKeys, setShowsKeys] = useState(false);

  const setQuery = useCallback(
    (text: string, replace = false) =>
      void navigate({
        to: openId === null || !beside ? '/messages' : '/messages/$id',
        params: openId === null ? {} : { id: openId },
        search: text.trim() === '' ? {} : { q: text },
        replace,
      }),
    [navigate, openId, beside],
  );
  const goTo = useCallback(
    (id: string | null) =>
      id === null
        ? navigate({ to: '/messages', search: true })
        : navigate({ to: '/messages/$id', params: { id }, search: true, replace: openId !== null }),
    [navigate, openId],
  );
  // A message id opens the message instead of searching for it.
  useEffect(() => {
    if (messageId !== null)
      void navigate({ to: '/messages/$id', params: { id: messageId }, search: {}, replace: true });
  }, [messageId, navigate]);
  const onMore = useCallback(() => live?.loadMore(), [live]);
  const onSight = useCallback((index: number) => live?.look(index), [live]);
  const { cursorId, step } = useCursor({
    ...{ items, idOf: messageIdOf, openId, rows },
    onStep: (id) => openId !== null && void goTo(id),
  });
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    Enter: () => cursorId !== null && void goTo(cursorId),
    u: () => void goTo(null),
    '?': () => setShowsKeys(true),
    Escape: () => (openId !== null ? void goTo(null) : q !== '' && setQuery('')),
  });

  return (
    <div className="flex h-full flex-col" role={openId === null ? 'main' : undefined}>
      {openId === null && (
        <Title className="sr-only" onKeyDown={(event) => rows.current?.takeKey(event)}>
          Messages
        </Title>
      )}
      <OfflineBanner error={list.lost} />
      <div className="flex min-h-0 flex-1 bg-surface">
        {(beside || openId === null) && (
          <section
            aria-label="List of messages"
            className={`flex min-w-0 flex-col border-line ${openId === null ? 'flex-1' : 'w-96 shrink-0 border-r'}`}
          >
            <header className="shrink-0 border-line border-b">
              <div className="flex h-12 items-center gap-1 px-3">
                <SearchBox
                  words={q}
                  label="Search messages"
                  placeholder="Address, subject, message id, tag:, status:, …"
                  isWrong={problem !== null}
                  onWords={setQuery}
                />
                <IconButton
                  label="Keys"
                  keys="?"
                  onClick={() => setShowsKeys(true)}
                  className="max-[44rem]:hidden"
                >
                  <Keyboard size={16} aria-hidden />
                </IconButton>
              </div>
              {problem !== null && <p className="px-3 pb-2 text-bad text-xs">{problem}</p>}
              <FilterChips search={search} text={q} onText={setQuery} />
            </header>
            <ListState
              list={{ ...list, reload: () => live?.reload() }}
              rowPx={rowPx}
              empty={<Empty isNarrowed={q !== ''} filters={filters} onEverything={() => setQuery('')} />}
            >
              <VirtualRows
                ref={rows}
                label="Messages"
                items={items}
                idOf={messageIdOf}
                rowPx={rowPx}
                readsOn={list.readsOn}
                onMore={onMore}
                onSight={onSight}
                currentId={cursorId}
                left={left}
                row={(item) => (
                  <MessageRow
                    item={item}
                    isOpen={item.MessageID === openId}
                    isCursor={item.MessageID === cursorId}
                    isTable={isTable}
                  />
                )}
              />
            </ListState>
          </section>
        )}
        {openId !== null && <MessagePage key={openId} id={openId} onBack={() => void goTo(null)} />}
      </div>
      {showsKeys && <KeysHelp keys={KEY_HELP} words={SEARCH_HELP} onClose={() => setShowsKeys(false)} />}
    </div>
  );
}

/** `filters`: what was looked for. */
function Empty({
  isNarrowed,
  filters: { To: to, Subject, Domain },
  onEverything,
}: {
  isNarrowed: boolean;
  filters: Query;
  onEverything(): void;
}) {
  const { data: me } = useQuery(ME);
  const LINK = 'text-accent underline';
  return isNarrowed ? (
    <Notice title="No message matches" icon={<SearchX aria-hidden />}>
      {Subject !== undefined && to === undefined && (
        <p className="mb-3">
          “<bdi>{Subject}</bdi>” was looked for in the subject. A recipient is found by the whole address, or
          by the domain as @example.net.
        </p>
      )}
      {typeof Domain === 'string' && (
        <p className="mb-3">
          Only mail from <bdi>{Domain}</bdi> was looked for. See{' '}
          <Link to="/messages" search={{ q: `@${Domain}` }} className={LINK}>
            mail to <bdi>{Domain}</bdi>
          </Link>
          .
        </p>
      )}
      {mayDo(me, 'email:read', 'listRefusals') && (
        <p className="mb-3">
          Mail that was not accepted is listed under{' '}
          <Link to="/system" search={{ tab: 'refused' }} className={LINK}>
            System, Refused
          </Link>
          {typeof to === 'string' && mayDo(me, 'suppressions:read') && (
            <>
              . Look also whether{' '}
              <Link to="/suppressions" search={{ q: to }} className={LINK}>
                the address is suppressed
              </Link>
            </>
          )}
          .
        </p>
      )}
      <Button onClick={onEverything}>Show all messages</Button>
    </Notice>
  ) : (
    <Notice title="No messages yet" icon={<Mail aria-hidden />}>
      Messages that are accepted by HTTP or SMTP are listed here, with their status.
      {mayDo(me, 'stats:read') && (
        <>
          {' '}
          How to send the first is said in the{' '}
          <Link to="/overview" className={LINK}>
            overview
          </Link>
          .
        </>
      )}
    </Notice>
  );
}
