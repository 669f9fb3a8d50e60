// Errors in the settings of a link, with texts for the administrator.

/** JSON Pointer (RFC 6901) of the invalid member, and the reason. */
export type LinkConfigurationError = { readonly pointer: string; readonly detail: string };

/** A setting prevents the opening of a link. The API returns the message to the administrator. */
export class InvalidLinkSettingError extends Error {
  override name = 'InvalidLinkSettingError';
  readonly pointer: string;

  constructor(pointer: string, detail: string) {
    super(detail);
    this.pointer = pointer;
  }
}
