// Reads what a browser says of a passkey: JSON in a field of a form.

/** Undefined where it is no JSON; what is in it is for the verification to judge. */
export function readAnswer(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
