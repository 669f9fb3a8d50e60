// What is wrong with a setting of a link, in words for whoever set it.

/** A member of a link, as a JSON Pointer, and what is wrong with it. */
export type LinkFault = { readonly pointer: string; readonly detail: string };

/** A link cannot be opened as it is set; the message may be told to whoever set it. */
export class LinkSettingFault extends Error {
  override name = 'LinkSettingFault';
  readonly pointer: string;

  constructor(pointer: string, detail: string) {
    super(detail);
    this.pointer = pointer;
  }
}
