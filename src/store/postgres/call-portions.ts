/** Webhook calls in portions: how many one transaction creates. The others are recorded in `later_call`. */

export const MOST_CALLS = 500;
