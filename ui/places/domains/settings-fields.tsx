/** The fields of the settings, in groups. */
import { fieldError } from '../../api/call.ts';
import { CheckField, Field } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import type { Draft } from './settings-draft.ts';

interface FieldsProps {
  /** Of the domain. */
  name: string;
  draft: Draft;
  onDraft(draft: Draft): void;
  error: Error | null;
  mayChange: boolean;
  mayQuota: boolean;
}

export function SettingsFields(props: FieldsProps) {
  const { name, draft, onDraft, error, mayChange, mayQuota } = props;
  const flag = (pointer: string, label: string, hint: string) => (
    <CheckField
      label={label}
      hint={hint}
      error={fieldError(error, pointer)}
      checked={draft.flags[pointer] ?? false}
      disabled={!mayChange}
      onChange={(event) => onDraft({ ...draft, flags: { ...draft.flags, [pointer]: event.target.checked } })}
    />
  );
  const text = (
    pointer: string,
    label: string,
    hint: string | undefined,
    placeholder: string,
    may = mayChange,
  ) => (
    <Field
      label={label}
      hint={hint}
      placeholder={placeholder}
      error={fieldError(error, pointer)}
      value={draft.texts[pointer] ?? ''}
      disabled={!may}
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
      inputMode={pointer.endsWith('Host') ? 'url' : 'numeric'}
      onChange={(event) => onDraft({ ...draft, texts: { ...draft.texts, [pointer]: event.target.value } })}
    />
  );
  return (
    <>
      <Section title="Sending">
        <div className="grid max-w-2xl gap-3">
          {flag(
            '/Subdomains',
            'Its sub-domains may send too',
            'Except those that were added as domains of their own.',
          )}
          {flag('/RequireTls', 'Send only with verified TLS', 'Its mail waits where that is not possible.')}
          {flag(
            '/AtMostOnce',
            'Send at most once',
            'Where a connection breaks after a message was sent, nobody knows whether it arrived: it counts as failed instead of being sent again.',
          )}
          {flag(
            '/ListUnsubscribe',
            'Unsubscribe by one click',
            'Mail programs show a button. Bulk mail always has it, critical mail never; this is for normal mail.',
          )}
        </div>
      </Section>
      <Section title="Tracking">
        <div className="grid max-w-2xl gap-3">
          {flag(
            '/Tracking/Opens',
            'Count opens',
            'By a picture in HTML mail, unless a message says otherwise.',
          )}
          {flag('/Tracking/Clicks', 'Count clicks', 'Links lead over the tracking host.')}
          {text(
            '/TrackingHost',
            'Tracking host',
            `A host below ${name} for links and pictures. It needs a CNAME and a certificate. Empty: the server’s own address.`,
            `track.${name}`,
          )}
        </div>
      </Section>
      <Section title="Return path">
        <div className="grid max-w-2xl gap-3">
          {text(
            '/ReturnPathHost',
            'Return-path host',
            `Where bounces go: ${name} or a host below it, so that SPF aligns. It needs an MX record. Empty: the server’s.`,
            `bounces.${name}`,
          )}
        </div>
      </Section>
      <Section title="Retention" aside="days">
        <div className="grid max-w-2xl gap-3 min-[44rem]:grid-cols-2">
          {text(
            '/Retention/ContentDays',
            'Contents',
            '0: until the last recipient is final.',
            'as the server is set',
          )}
          {text('/Retention/EventDays', 'Messages and events', undefined, 'as the server is set')}
        </div>
      </Section>
      <Section title="Quota" aside="recipients, counted in UTC">
        <div className="grid max-w-2xl gap-3 min-[44rem]:grid-cols-3">
          {(['PerMinute', 'PerHour', 'PerDay'] as const).map((period) => (
            <div key={period}>
              {text(
                `/Quota/${period}`,
                { PerMinute: 'Per minute', PerHour: 'Per hour', PerDay: 'Per day' }[period],
                undefined,
                'as the server is set',
                mayQuota,
              )}
            </div>
          ))}
        </div>
        {mayChange && !mayQuota && <p className="text-soft text-xs">Only operators of the server set it.</p>}
      </Section>
    </>
  );
}
