/**
 * Tells a JSON object from the other values that `JSON.parse` returns, null and arrays among them. Takes any value; never
 * throws.
 */

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** PHP writes an array without members as `[]`, also where an object is meant. */
export function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
