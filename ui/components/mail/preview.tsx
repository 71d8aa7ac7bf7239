/**
 * The mail as a reader sees it, in a frame that runs nothing. Pictures from elsewhere stay out until they are allowed, for
 * this mail or for everything of its sender.
 */
import { useRef, useState } from 'react';
import { toast } from '../toasts.tsx';
import { PreviewPane } from './preview-pane.tsx';
import { namesRemotePictures } from './remote-pictures.ts';
import { allowSender, isSenderAllowed } from './trusted-senders.ts';

export function Preview({
  sender,
  html,
  urlOf,
  note,
}: {
  /** Address of who sent it. */
  sender: string;
  /** Its HTML part; '' = none. */
  html: string;
  /** Where its page is, with or without pictures from elsewhere. */
  urlOf(remoteImages: boolean): string;
  /** What links in it are not, for whoever follows one. */
  note: string;
}) {
  const [allowed, setAllowed] = useState(() => isSenderAllowed(sender));
  const { turn, onLoad } = useStay(String(allowed), note);
  const asks = !allowed && namesRemotePictures(html);
  const pictures = {
    once: () => setAllowed(true),
    always() {
      allowSender(sender);
      setAllowed(true);
    },
  };
  return (
    <PreviewPane
      pictures={asks ? pictures : null}
      aside={html === '' && <span className="text-soft">No HTML part: this is its text.</span>}
    >
      {(look) => (
        <iframe
          key={turn}
          onLoad={onLoad}
          src={urlOf(allowed)}
          title="The mail as its reader sees it"
          sandbox=""
          referrerPolicy="no-referrer"
          {...look}
        />
      )}
    </PreviewPane>
  );
}

/**
 * Shows the frame again after a link in it was followed: it led nowhere, because the policy of this page lets no other site
 * in. `of`: what else the frame is made anew for; `turn` is its key.
 */
export function useStay(of: string, note: string): { turn: string; onLoad(): void } {
  const [count, setCount] = useState(0);
  const shown = useRef('');
  const turn = `${of} ${count}`;
  return {
    turn,
    onLoad() {
      if (shown.current === turn) {
        setCount(count + 1);
        toast({ text: note });
      }
      shown.current = turn;
    },
  };
}
