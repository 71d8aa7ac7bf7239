/** Above the list: the search, the choice of an inbox where there is no room for all, and what is done with a selection. */

import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { CheckCheck, ChevronDown, Keyboard, Mail, Trash2, X } from 'lucide-react';
import { useState } from 'react';
import { ME, mayDo } from '../../api/me.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { Question } from '../../components/dialog.tsx';
import { Menu, MoreMenu } from '../../components/menu.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { inboxLabel, type NamedInbox } from './inbox-side.tsx';

export interface ListBarProps {
  words: string;
  problem: string | null;
  onWords(words: string, goesOn?: boolean): void;
  inboxes: readonly NamedInbox[];
  inbox: string | undefined;
  selected: number;
  onClear(): void;
  onMark(): void;
  onRemove(): void;
  onMarkAll(): void;
  onRemoveAll(): Promise<void>;
  onKeys(): void;
}

export function ListBar(props: ListBarProps) {
  const { selected, problem } = props;
  const { data: me } = useQuery(ME);
  return (
    <header className="shrink-0 border-line border-b">
      {selected > 0 ? (
        <div className="flex h-12 items-center gap-1 px-3">
          <IconButton label="Clear the selection" keys="Escape" onClick={props.onClear}>
            <X size={16} aria-hidden />
          </IconButton>
          <span className="mr-auto tabular-nums">{selected} selected</span>
          <IconButton label="Mark as read or unread" keys="e" onClick={props.onMark}>
            <Mail size={16} aria-hidden />
          </IconButton>
          {mayDo(me, 'email:send') && (
            <IconButton label="Delete" keys="#" onClick={props.onRemove}>
              <Trash2 size={16} aria-hidden />
            </IconButton>
          )}
        </div>
      ) : (
        <div className="flex h-12 items-center gap-1 px-3">
          <SearchBox {...props} label="Search captured mail" isWrong={problem !== null} />
          <IconButton label="Keys" keys="?" onClick={props.onKeys} className="max-[54rem]:hidden">
            <Keyboard size={16} aria-hidden />
          </IconButton>
          {mayDo(me, 'email:send') && <WholeInbox {...props} />}
        </div>
      )}
      {problem !== null && <p className="px-3 pb-2 text-bad text-xs">{problem}</p>}
      {props.inboxes.length > 1 && (
        <div className="px-3 pb-2 xl:hidden">
          <InboxChoice {...props} />
        </div>
      )}
    </header>
  );
}

function WholeInbox({ inbox, onMarkAll, onRemoveAll }: ListBarProps) {
  const [asks, setAsks] = useState(false);
  const where = inbox === undefined ? 'all inboxes' : inboxLabel(inbox);
  return (
    <>
      <MoreMenu
        label="More"
        entries={[
          {
            icon: CheckCheck,
            name: 'Mark all as read',
            run: onMarkAll,
          },
          {
            icon: Trash2,
            name: 'Delete all…',
            isDangerous: true,
            run: () => setAsks(true),
          },
        ]}
      />
      {asks && (
        <Question
          title={`Delete all mail in ${where}?`}
          text="Everything that was captured there is deleted for everybody. This cannot be undone."
          action="Delete all"
          onYes={onRemoveAll}
          onClose={() => setAsks(false)}
        />
      )}
    </>
  );
}

function InboxChoice({ inboxes, inbox }: ListBarProps) {
  const navigate = useNavigate();
  const go = (name: string | undefined) =>
    void navigate({ to: '/inbox', search: name === undefined ? {} : { inbox: name } });
  return (
    <Menu
      align="start"
      trigger={
        <Button className="w-full justify-between">
          <bdi className="truncate">{inbox === undefined ? 'All inboxes' : inboxLabel(inbox)}</bdi>
          <ChevronDown size={14} aria-hidden className="shrink-0" />
        </Button>
      }
      entries={[
        { name: 'All inboxes', run: () => go(undefined), isCurrent: inbox === undefined },
        ...inboxes.map(({ name, unseen }) => ({
          label: inboxLabel(name),
          name: (
            <>
              <bdi className="truncate">{inboxLabel(name)}</bdi>
              {unseen > 0 && <span className="ml-auto text-soft text-xs">{unseen}</span>}
            </>
          ),
          run: () => go(name),
          isCurrent: name === inbox,
        })),
      ]}
    />
  );
}
