/** Where the identity provider sends the browser back to. */
export const BACK = '/sign-in';

/** Whether the browser has just come back from the provider. */
export function isBackFromProvider(): boolean {
  return location.pathname === BACK && location.search !== '';
}
