/** The three kinds of codes: what retrying and the outcome are by default. */
/** Refused, and the same request can never succeed. */
export const refused = <const Status extends number>(status: Status, title: string, help: string) =>
  ({ status, title, help, retryable: false, outcome: 'NotProcessed' }) as const;

/** Refused, and the same request can succeed later. */
export const refusedForNow = <const Status extends number>(
  status: Status,
  title: string,
  help: string,
) => ({ status, title, help, retryable: true, outcome: 'NotProcessed' }) as const;

/** Something failed, and whether money has moved must be asked for. */
export const notKnown = <const Status extends number>(
  status: Status,
  title: string,
  help: string,
) => ({ status, title, help, retryable: true, outcome: 'Unknown' }) as const;
