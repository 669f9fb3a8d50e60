// The errors that replace a page: each kind with its HTTP status; its texts are in the locales.
import type { PageTexts } from '../locales/page-texts.ts';

export type PageErrorKind = Exclude<keyof PageTexts['errors'], 'requestId' | 'newLink' | 'reopen'>;

export const pageErrorStatuses = {
  signInExpired: 410,
  linkInvalid: 410,
  userDomainUnknown: 404,
  formRejected: 403,
  clientInvalid: 400,
  accessDenied: 403,
  tooManyRequests: 429,
  requestInvalid: 400,
  pageNotFound: 404,
  serverError: 500,
} as const satisfies Record<PageErrorKind, number>;

/** Ends a handler with an error page; the page contains nothing that the client sent. */
export class PageError extends Error {
  override name = 'PageError';
  readonly kind: PageErrorKind;

  constructor(kind: PageErrorKind) {
    super(kind);
    this.kind = kind;
  }
}
