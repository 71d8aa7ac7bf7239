/** The DKIM keys with their rotation, and which names of a mail belong together for DMARC. */

import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { Domain, DomainDkimKey } from '../../../src/client/api-types.ts';
import { rotateKey } from '../../api/domains.ts';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogForm } from '../../components/dialog.tsx';
import { Section } from '../../components/page.tsx';
import { Status } from '../../components/status.tsx';
import { Ago, Until } from '../../components/time.tsx';
import { toast } from '../../components/toasts.tsx';
import { AlignmentDrawing } from './alignment-drawing.tsx';
import { CheckItem } from './check-item.tsx';
import { checkOf, foundOf } from './domain-status.ts';

interface SigningProps {
  domain: Domain;
  mayChange: boolean;
  onChanged(domain: Domain): void;
}

export function SigningView(props: SigningProps) {
  const { domain } = props;
  const checks = domain.Checks.filter(({ Name }) => Name === 'dmarc' || Name === 'align');
  return (
    <>
      <Keys {...props} />
      <Section title="Alignment" aside="what DMARC compares">
        <AlignmentDrawing domain={domain} />
        {checks.length > 0 && (
          <ul aria-label="DMARC and alignment" className="grid border-line border-t">
            {checks.map((check) => (
              <CheckItem key={check.Name} check={check} />
            ))}
          </ul>
        )}
      </Section>
    </>
  );
}

const ROLES = {
  Active: 'Signs now',
  Standby: 'Next key: published ahead, signs after the next rotation',
  Retired: 'Signed before: mail on its way still needs its record',
} as const;

function Keys({ domain, mayChange, onChanged }: SigningProps) {
  const [isRotating, setRotating] = useState(false);
  const { DkimKeys } = domain;
  const standby = DkimKeys.find(({ Role }) => Role === 'Standby');
  const keepUntil = DkimKeys.flatMap(({ KeepUntil }) => KeepUntil ?? []).sort()[0];
  return (
    <Section title="DKIM keys">
      <ul aria-label="DKIM keys" className="grid border-line border-t">
        {DkimKeys.map((key) => (
          <li
            key={key.Selector}
            className="flex flex-wrap items-center gap-x-4 gap-y-0.5 border-line border-b py-2"
          >
            <code className="min-w-16 font-mono font-semibold">{key.Selector}</code>
            <span>{ROLES[key.Role]}</span>
            <Status {...recordFound(domain, key)} className="text-xs" />
            <span className="text-soft text-xs">
              made <Ago at={key.CreatedAt} />
              {key.KeepUntil !== null && (
                <>
                  {' '}
                  ·{' '}
                  <Until
                    at={key.KeepUntil}
                    before="keep its record; it is replaced"
                    after="was to be replaced"
                  />
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
      {standby === undefined && keepUntil !== undefined && (
        <p className="text-soft">
          Rotated a short while ago: the next key{' '}
          <Until at={keepUntil} before="is made" after="was to be made" />, then its record has to be
          published.
        </p>
      )}
      {mayChange && standby !== undefined && (
        <Button className="justify-self-start" onClick={() => setRotating(true)}>
          Rotate the key…
        </Button>
      )}
      {isRotating && standby !== undefined && (
        <RotateDialog
          domain={domain}
          selector={standby.Selector}
          onChanged={onChanged}
          onClose={() => setRotating(false)}
        />
      )}
    </Section>
  );
}

function recordFound(domain: Domain, { Selector }: DomainDkimKey): ReturnType<typeof foundOf> {
  const host = `${Selector}._domainkey.${domain.Domain}`;
  const record = domain.DnsRecords.find(({ Host }) => Host === host);
  return record === undefined ? { status: 'Unknown' } : foundOf(record, checkOf(domain, record));
}

function RotateDialog({
  domain,
  selector,
  onChanged,
  onClose,
}: {
  domain: Domain;
  selector: string;
  onChanged(domain: Domain): void;
  onClose(): void;
}) {
  const rotating = useMutation({
    mutationFn: () => rotateKey(domain.Domain),
    onSuccess: (rotated) => {
      onChanged(rotated);
      toast({ text: `${domain.Domain} signs with ${selector} now` });
      onClose();
    },
  });
  return (
    <Dialog title={`Sign with ${selector}`} onClose={onClose}>
      <DialogForm running={rotating} action="Rotate" onSubmit={() => rotating.mutate()} onCancel={onClose}>
        <p>
          Mail is signed with {selector} from now on. Its record is looked for first: without it nothing
          changes. Leave the record of the old key published for seven days, for mail that is still on its
          way; then a new key takes its place, and its record has to be published.
        </p>
      </DialogForm>
    </Dialog>
  );
}
