/** Mistakes in templates and variables as the API reports them: with part, line, column and the text there. */
import type { Problem } from '../../../lib/errors.ts';
import type { TemplateError, TemplatePart } from '../../../pipeline/compose/template/template-error.ts';
import { pointerSegment } from '../body/problem-list.ts';

const FIELDS: Readonly<Record<TemplatePart, string>> = {
  subject: 'Subject',
  html: 'HTMLContent',
  text: 'PlainContent',
};

/** A mistake in a template that is being stored: the field is the text with the mistake. */
export function templateMistake(error: TemplateError): Problem {
  return { ...located(error), name: 'template-invalid', field: `/${FIELDS[error.part]}` };
}

/** A stored template that cannot be rendered with these variables. */
export function fillMistake(error: TemplateError): Problem {
  return { ...located(error), name: 'template-not-fillable', field: '/Variables' };
}

/** One problem for each missing variable, in strict mode. */
export function missingVariables(names: readonly string[]): Problem[] {
  return names.map((name) => ({
    name: 'template-variable-missing',
    field: `/Variables/${name.split('.').map(pointerSegment).join('/')}`,
    message: `The template needs the variable ${name}`,
  }));
}

function located({ part, line, column, snippet, message }: TemplateError): Omit<Problem, 'name'> {
  const near = snippet === '' ? '' : ` (at ${snippet})`;
  return {
    message: `${FIELDS[part]} of the template, line ${line}, column ${column}: ${message}${near}`,
    line,
    column,
  };
}
