/** Scripts rely on these exit codes: a number never changes its meaning. */
export const exitCodes = {
  done: 0,
  fault: 1,
  usage: 2,
  notSignedIn: 3,
  notPermitted: 4,
  notFound: 5,
  refused: 6,
  unreachable: 7,
  differences: 8,
  partlyDone: 9,
  notConforming: 10,
  unsettled: 11,
  interrupted: 130,
} as const;

export type ExitName = keyof typeof exitCodes;

export const exitMeanings: Readonly<Record<ExitName, string>> = {
  done: 'Done.',
  fault: 'An error of the command, of this machine or of the server (HTTP 500).',
  usage: 'The command line or the input file is invalid; nothing was sent.',
  notSignedIn:
    'No user or application is signed in, or the server rejected the credentials or the token (HTTP 401).',
  notPermitted: 'The signed-in user or application has no permission for this (HTTP 403).',
  notFound: 'The resource does not exist or is not visible to you (HTTP 404).',
  refused:
    'The server rejected the request because of a conflict or an invalid value (HTTP 4xx), or “audit verify” found that the audit chain is broken or that a signed document was changed.',
  unreachable:
    'The server could not be reached, did not answer in time, or is overloaded (HTTP 429, 502, 503, 504).',
  differences:
    'Differences were found, and `--exit-code` was set, or they exceed the `--tolerance` of “acquirer compare”.',
  partlyDone: 'Some of the changes failed; the output names them.',
  notConforming:
    'The checked server does not conform to its SPI, or a case of “acquirer certify” failed.',
  unsettled:
    'The outcome of a payment is unknown, or the payment of an earlier run was approved. Check it before you start a new payment.',
  interrupted: 'Interrupted by Ctrl-C or SIGTERM.',
};
