/** All records as lines of a zone file, to copy or to import where a DNS host takes a file. */
import { Download } from 'lucide-react';
import type { Domain } from '../../../src/client/api-types.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/copy.tsx';
import { downloadText } from '../../components/download.ts';

export function ZoneFile({ domain: { Domain: name, Zone } }: { domain: Domain }) {
  return (
    <details className="grid gap-2">
      <summary className="w-fit py-1 text-accent">All of them as a zone file</summary>
      <div className="grid gap-2 pt-2">
        <CodeBlock text={Zone} label="Copy the zone file" />
        <Button
          className="justify-self-start"
          onClick={() => downloadText(Zone, `${name}.zone`, 'text/plain')}
        >
          <Download size={14} aria-hidden /> Download
        </Button>
      </div>
    </details>
  );
}
