/**
 * HTML that is being written, as a reader would see it. The frame holds an empty page of the server whose policy runs and
 * loads nothing (`/preview`), and has no right to scripts itself; this page writes into it whatever changes, so that it stays
 * where it was scrolled to.
 */
import { useEffect, useRef, useState } from 'react';
import { harmlessHtml } from '../../../src/listeners/http/sandbox/captured-page.ts';
import { useStay } from './preview.tsx';
import { PreviewPane } from './preview-pane.tsx';
import { namesRemotePictures } from './remote-pictures.ts';

export function DraftPreview({ html, note }: { html: string; note: string }) {
  const [allowed, setAllowed] = useState(false);
  const { turn, onLoad } = useStay(String(allowed), note);
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => write(frame.current, html), [html]);
  return (
    <PreviewPane pictures={!allowed && namesRemotePictures(html) ? { once: () => setAllowed(true) } : null}>
      {(look) => (
        <iframe
          key={turn}
          ref={frame}
          onLoad={() => {
            onLoad();
            write(frame.current, html);
          }}
          src={allowed ? '/preview/pictures' : '/preview'}
          title="The mail as its reader would see it"
          sandbox="allow-same-origin"
          referrerPolicy="no-referrer"
          {...look}
        />
      )}
    </PreviewPane>
  );
}

/** Only into the page that was asked for: one that a link of the draft led to, or none yet, has another policy. */
function write(frame: HTMLIFrameElement | null, html: string): void {
  const view = frame?.contentWindow as (Window & typeof globalThis) | null | undefined;
  const page = frame?.contentDocument;
  if (view == null || page == null || ownOf(page, 'readyState') === 'loading') return;
  // A link within the draft adds its fragment.
  if (ownOf(page, 'URL').split('#', 1)[0] !== frame?.src) return;
  const { scrollX, scrollY } = view;
  // By a reader of the frame, so that its policy decides about styles, not the one of this page.
  const next = new view.DOMParser().parseFromString(harmlessHtml(html), 'text/html');
  ownOf(page, 'documentElement').replaceWith(ownOf(next, 'documentElement'));
  view.scrollTo(scrollX, scrollY);
}

/** A property of the document itself: `page.URL` would be the form or picture of the draft whose name is `URL`. */
function ownOf<Name extends keyof Document>(page: Document, name: Name): Document[Name] {
  return Reflect.get(Document.prototype, name, page);
}
