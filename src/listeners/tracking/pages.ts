/**
 * The pages that a reader of mail can see of this server. Plain text, no scripts, no pictures, no cookies, and nothing
 * from the request, so there is nothing to escape.
 */

/** A whole document with one heading; `body`: trusted HTML. */
function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">
<title>${title}</title></head>
<body><h1>${title}</h1>
${body}
</body>
</html>
`;
}

/** The form posts to the URL of the page itself, with the field that mail programs send (RFC 8058 §3.1). */
export const ASK_PAGE = page(
  'Unsubscribe',
  `<p>You will get no more newsletters from this sender. Receipts and other mail about what you do there may still come.</p>
<form method="post"><button type="submit" name="List-Unsubscribe" value="One-Click">Unsubscribe</button></form>`,
);

export const DONE_PAGE = page('You are unsubscribed', '<p>You can close this page.</p>');

export const TOO_OLD_PAGE = page(
  'This link is too old',
  '<p>The mail it came with is no longer known here, so nothing was changed. Please use the link of a newer mail from this sender, or write to them.</p>',
);

export const UNKNOWN_PAGE = page(
  'This link is not valid',
  '<p>It may have been cut off or changed on the way. Please use the link as it stands in the mail.</p>',
);

export const LATER_PAGE = page(
  'Not now',
  '<p>This could not be stored at the moment, so nothing was changed. Please try again in a minute.</p>',
);
