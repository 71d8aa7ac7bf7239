/** The files of a mail: pictures and PDF documents to look at, everything to download. */
import { Download, File } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { AttachmentFacts } from '../../../src/client/api-types.ts';
import { Button } from '../button.tsx';
import { bytesText } from '../bytes.ts';
import { Notice } from '../notice.tsx';
import { toast } from '../toasts.tsx';

/** What a browser shows in an `img`, where nothing in it can run. */
const PICTURE = /^image\/(?:png|jpe?g|gif|webp|avif|bmp|svg\+xml)$/;
const PDF_START = '%PDF-';

/** `urlOf`: where the file at a place of the list is. */
export function Attachments({
  files,
  urlOf,
}: {
  files: readonly AttachmentFacts[];
  urlOf(place: number): string;
}) {
  if (files.length === 0) return <Notice title="No files in this mail" />;
  return (
    <ul className="grid gap-3 p-4">
      {files.map((file, place) => (
        <Attachment key={urlOf(place)} file={file} url={urlOf(place)} />
      ))}
    </ul>
  );
}

function Attachment({ file, url }: { file: AttachmentFacts; url: string }) {
  const name = file.Filename === '' ? '(no name)' : file.Filename;
  const [pdf, setPdf] = useState<string | null>(null);
  useEffect(() => (pdf === null ? undefined : () => URL.revokeObjectURL(pdf)), [pdf]);
  const isPicture = PICTURE.test(file.Type);
  return (
    <li className="overflow-hidden rounded-md border border-line">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2">
        <File size={16} aria-hidden className="shrink-0 text-soft" />
        <span className="min-w-0 flex-1 basis-40">
          <bdi className="block font-semibold">{name}</bdi>
          <span className="text-soft text-xs">
            {file.Type}, {bytesText(file.Size)}
            {file.ContentId !== '' && `, shown in the mail as ${file.ContentId}`}
          </span>
        </span>
        <span className="flex gap-2">
          {file.Type === 'application/pdf' && (
            <Button
              onClick={() =>
                pdf === null
                  ? void openPdf(url).then(setPdf, (error: unknown) => toast({ text: String(error) }))
                  : setPdf(null)
              }
            >
              {pdf === null ? 'Preview' : 'Close'}
            </Button>
          )}
          <a
            href={url}
            download={file.Filename}
            className="inline-flex min-h-8 items-center gap-1.5 rounded-md border border-line-strong px-3 hover:bg-hover"
          >
            <Download size={14} aria-hidden /> Download
          </a>
        </span>
      </div>
      {isPicture && (
        <img
          src={url}
          alt={`Preview of ${name}`}
          loading="lazy"
          className="mx-auto max-h-96 max-w-full bg-page"
        />
      )}
      {pdf !== null && (
        <iframe src={pdf} title={`Preview of ${name}`} className="h-[32rem] w-full border-line border-t" />
      )}
    </li>
  );
}

/** An address of our own for the document, so that it is nothing else than a PDF, whatever its sender says. */
async function openPdf(url: string): Promise<string> {
  const answer = await fetch(url, { headers: { 'x-postrider-dashboard': '1' } });
  const content = await answer.arrayBuffer();
  const start = new TextDecoder('latin1').decode(content.slice(0, 1_024));
  if (!answer.ok || !start.includes(PDF_START)) throw new Error('This file is not a PDF document');
  return URL.createObjectURL(new Blob([content], { type: 'application/pdf' }));
}
