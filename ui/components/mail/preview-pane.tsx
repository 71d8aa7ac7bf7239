/**
 * What stands around the preview of a mail: the width of a phone, a tablet or what there is, light or dark, and the question
 * whether pictures from elsewhere are shown. The frame itself is the caller's.
 */
import { ImageOff, Moon, Sun } from 'lucide-react';
import { type CSSProperties, type ReactNode, useState } from 'react';
import { Button } from '../button.tsx';
import { Segments } from '../segments.tsx';

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

/** For the frame: its width, its colours, its edge. */
export interface FrameLook {
  style: CSSProperties;
  className: string;
}

export function PreviewPane({
  pictures,
  aside,
  children,
}: {
  /** Set while pictures from elsewhere are blocked; `always` is left out where nobody can be trusted for good. */
  pictures: { once(): void; always?(): void } | null;
  /** Beside the choices. */
  aside?: ReactNode;
  children(look: FrameLook): ReactNode;
}) {
  const [width, setWidth] = useState(last.width);
  const [scheme, setScheme] = useState(last.scheme);
  const isFull = width === 'full';
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
        {aside}
      </div>
      {pictures !== null && (
        <div className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-line border-b bg-warn-fill px-4 py-1.5">
          <ImageOff size={16} aria-hidden className="shrink-0 text-warn" />
          <span className="mr-auto">Pictures from elsewhere are blocked.</span>
          <span className="flex flex-wrap gap-2">
            <Button onClick={pictures.once}>Show once</Button>
            {pictures.always !== undefined && (
              <Button onClick={pictures.always}>Always for this sender</Button>
            )}
          </span>
        </div>
      )}
      <div className={`min-h-0 flex-1 overflow-x-auto ${isFull ? '' : 'bg-page p-4'}`}>
        {children({
          style: { width: isFull ? '100%' : Number(width), colorScheme: scheme },
          className: `mx-auto block h-full ${isFull ? '' : 'rounded-md border border-line-strong'} ${scheme === 'dark' ? 'bg-black' : 'bg-white'}`,
        })}
      </div>
    </div>
  );
}
