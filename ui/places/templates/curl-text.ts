/** A command that sends a mail by a template, with the sample variables. Pure. */
import type { Template } from '../../../src/client/api-types.ts';
import { curlCommand } from '../../components/curl.ts';
import type { Variables } from './variables.ts';

export function curlText(
  template: Pick<Template, 'TemplateID' | 'Domain' | 'Subject' | 'HTMLContent' | 'PlainContent'>,
  variables: Variables,
  origin: string,
): string {
  const hasContent = template.HTMLContent !== null || template.PlainContent !== null;
  const body = {
    From: { email: `hello@${template.Domain}` },
    To: [{ email: 'you@example.net' }],
    ...(template.Subject === null ? { Subject: 'Your subject' } : {}),
    ...(hasContent ? {} : { ContentType: 'Text', PlainContent: 'Your text' }),
    TemplateID: template.TemplateID,
    Variables: variables,
  };
  return curlCommand(origin, body);
}
