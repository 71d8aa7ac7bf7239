/** Keys of what was answered, for whoever changes it. All begin with `access`. */
export const TOKENS = ['access', 'tokens'] as const;
export const CREDENTIALS = ['access', 'smtp'] as const;
export const PEOPLE = ['access', 'people'] as const;
export const AUDIT = ['access', 'audit'] as const;
