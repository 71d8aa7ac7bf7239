/** Links and codes of a mail, with a button to copy each: what a test or a person follows. */
import { ExternalLink } from 'lucide-react';
import type { CaptureDetail } from '../../../../src/client/api-types.ts';
import { CopyButton } from '../../../components/copy.tsx';
import { Notice } from '../../../components/notice.tsx';

export function Links({ mail }: { mail: CaptureDetail }) {
  const { Links: links, Codes: codes } = mail;
  if (links.length + codes.length === 0) return <Notice title="No links and no codes in this mail" />;
  return (
    <div className="grid gap-5 p-4">
      {codes.length > 0 && (
        <section>
          <h2 className="mb-1 font-semibold">Codes</h2>
          <ul className="flex flex-wrap gap-2">
            {codes.map((code) => (
              <Code key={code} code={code} />
            ))}
          </ul>
        </section>
      )}
      {links.length > 0 && (
        <section>
          <h2 className="mb-1 font-semibold">Links</h2>
          <ul>
            {links.map((link) => (
              <li key={link} className="flex items-start gap-1 border-line border-b py-1">
                <span dir="ltr" className="min-w-0 flex-1 py-1.5 font-mono text-xs leading-5">
                  {link}
                </span>
                {/^https?:\/\//i.test(link) && (
                  <a
                    href={link}
                    target="_blank"
                    rel="noopener noreferrer"
                    aria-label={`Open ${link}`}
                    title="Open in a new tab"
                    className="inline-grid size-8 shrink-0 place-items-center rounded-md text-soft hover:bg-hover hover:text-ink"
                  >
                    <ExternalLink size={14} aria-hidden />
                  </a>
                )}
                <CopyButton text={link} label={`Copy ${link}`} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

/** An item of a list. */
export function Code({ code }: { code: string }) {
  return (
    <li className="inline-flex items-center rounded-md border border-line-strong pl-2.5">
      <span className="font-mono text-base">{code}</span>
      <CopyButton text={code} label={`Copy the code ${code}`} />
    </li>
  );
}
