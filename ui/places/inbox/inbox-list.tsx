/** The list of the inbox, or what is said where it is empty: how to send a first mail, or how to see more. */
import { Inbox } from 'lucide-react';
import type { ReactNode } from 'react';
import { ListState } from '../../components/list-state.tsx';
import { NothingFound, Notice } from '../../components/notice.tsx';
import { ROW_PX } from './capture-row.tsx';
import { FirstMail } from './first-mail.tsx';
import type { Captures } from './use-captures.ts';

export function InboxList(props: {
  captures: Captures;
  /** What is looked for. */
  words: string;
  /** Something is looked for: nothing found does not mean that there is nothing. */
  isNarrowed: boolean;
  /** How to send a first mail is said here, because there is no room beside the list. */
  showsFirst: boolean;
  onEverything(): void;
  children: ReactNode;
}) {
  const empty = props.isNarrowed ? (
    <NothingFound title="Nothing found" words={props.words} all="Show all mail" onAll={props.onEverything} />
  ) : props.showsFirst ? (
    <FirstMail />
  ) : (
    <Notice title="No mail yet" icon={<Inbox aria-hidden />}>
      Mail that your program sends appears here as soon as it arrives.
    </Notice>
  );
  return (
    <ListState list={props.captures} rowPx={ROW_PX} empty={empty}>
      {props.children}
    </ListState>
  );
}
