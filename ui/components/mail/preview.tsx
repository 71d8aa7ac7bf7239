/**
 * The mail as a reader sees it: in a frame that runs nothing, at the width of a phone, a tablet or what there is, light or
 * dark. Pictures from elsewhere stay out until they are allowed, for this mail or for everything of its sender.
 */
import { ImageOff, Moon, Sun } from 'lucide-react';
import { useRef, useState } from 'react';
import { Button } from '../button.tsx';
import { Segments } from '../segments.tsx';
import { toast } from '../toasts.tsx';
import { namesRemotePictures } from './remote-pictures.ts';
import { allowSender, isSenderAllowed } from './trusted-senders.ts';

const WIDTHS = [
  { value: '375', name: '375' },
  { value: '768', name: '768' },
  { value: 'full', name: 'Full' },
] as const;
const SCHEMES = [
  { value: 'light', name: 'Light', icon: <Sun size={14} aria-hidden /> },
  { value: 'dark', name: 'Dark', icon: <Moon size={14} aria-hidden /> },
] as const;

type Width = (typeof WIDTHS)[number]['value'];
type Scheme = (typeof SCHEMES)[number]['value'];

/** Kept while mails are gone through. */
const last: { width: Width; scheme: Scheme } = { width: 'full', scheme: 'light' };

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
  const [width, setWidth] = useState(last.width);
  const [scheme, setScheme] = useState(last.scheme);
  const [allowed, setAllowed] = useState(() => isSenderAllowed(sender));
  const [turn, setTurn] = useState(0);
  const shown = useRef('');
  const frame = `${allowed} ${turn}`;
  // A link that was followed inside the frame leads nowhere: the policy of this page lets no other site in.
  const onLoad = (): void => {
    if (shown.current === frame) {
      setTurn(turn + 1);
      toast({ text: note });
    }
    shown.current = frame;
  };
  const asks = !allowed && namesRemotePictures(html);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex shrink-0 flex-wrap items-center gap-2 border-line border-b px-4 py-1.5">
        <Segments
          label="Width"
          value={width}
          choices={WIDTHS}
          onValue={(value) => {
            last.width = value;
            setWidth(value);
          }}
        />
        <Segments
          label="Theme of the mail"
          value={scheme}
          choices={SCHEMES}
          onValue={(value) => {
            last.scheme = value;
            setScheme(value);
          }}
        />
        {html === '' && <span className="text-soft">No HTML part: this is its text.</span>}
      </div>
      {asks && (
        <div className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-line border-b bg-warn-fill px-4 py-1.5">
          <ImageOff size={16} aria-hidden className="shrink-0 text-warn" />
          <span className="mr-auto">Pictures from elsewhere are blocked.</span>
          <span className="flex flex-wrap gap-2">
            <Button onClick={() => setAllowed(true)}>Show once</Button>
            <Button
              onClick={() => {
                allowSender(sender);
                setAllowed(true);
              }}
            >
              Always for this sender
            </Button>
          </span>
        </div>
      )}
      <div className={`min-h-0 flex-1 overflow-x-auto ${width === 'full' ? '' : 'bg-page p-4'}`}>
        <iframe
          key={frame}
          onLoad={onLoad}
          src={urlOf(allowed)}
          title="The mail as its reader sees it"
          sandbox=""
          referrerPolicy="no-referrer"
          style={{ width: width === 'full' ? '100%' : Number(width), colorScheme: scheme }}
          className={`mx-auto block h-full ${width === 'full' ? '' : 'rounded-md border border-line-strong'} ${scheme === 'dark' ? 'bg-black' : 'bg-white'}`}
        />
      </div>
    </div>
  );
}
