// Parses the passkey response of a browser: JSON in a form field.

/** Undefined if the text is not JSON; the verification checks the content. */
export function parsePasskeyResponse(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
