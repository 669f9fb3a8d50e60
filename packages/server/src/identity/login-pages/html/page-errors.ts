// What stops a page: each kind with its status and the words that people see.
import type { Words } from '../locales/languages.ts';

type Kind = {
  readonly status: number;
  title(words: Words): string;
  text(words: Words): string;
};

export const faultKinds = {
  stale: {
    status: 410,
    title: ({ faults }) => faults.staleTitle,
    text: ({ faults }) => faults.stale,
  },
  link: { status: 410, title: ({ faults }) => faults.linkTitle, text: ({ faults }) => faults.link },
  realm: {
    status: 404,
    title: ({ faults }) => faults.realmTitle,
    text: ({ faults }) => faults.realm,
  },
  form: { status: 403, title: ({ faults }) => faults.formTitle, text: ({ faults }) => faults.form },
  client: {
    status: 400,
    title: ({ faults }) => faults.clientTitle,
    text: ({ faults }) => faults.client,
  },
  denied: {
    status: 403,
    title: ({ faults }) => faults.deniedTitle,
    text: ({ faults }) => faults.denied,
  },
  busy: { status: 429, title: ({ faults }) => faults.busyTitle, text: ({ faults }) => faults.busy },
  request: {
    status: 400,
    title: ({ faults }) => faults.requestTitle,
    text: ({ faults }) => faults.requestText,
  },
  missing: {
    status: 404,
    title: ({ faults }) => faults.missingTitle,
    text: ({ faults }) => faults.missing,
  },
  broken: {
    status: 500,
    title: ({ faults }) => faults.brokenTitle,
    text: ({ faults }) => faults.broken,
  },
} as const satisfies Record<string, Kind>;

export type FaultKind = keyof typeof faultKinds;

/** Ends a handler with a page that says why; nothing of what was sent is in it. */
export class PageFault extends Error {
  override name = 'PageFault';
  readonly kind: FaultKind;

  constructor(kind: FaultKind) {
    super(kind);
    this.kind = kind;
  }
}
