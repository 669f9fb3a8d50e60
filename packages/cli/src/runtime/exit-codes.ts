/** How the command ends. Scripts rely on these numbers: they are never given another meaning. */
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
  fault: 'A fault of the command, of this machine or of the server (HTTP 500).',
  usage: 'The command line or the file is wrong; nothing was sent.',
  notSignedIn: 'Nobody is signed in, or the credentials or the token were refused (HTTP 401).',
  notPermitted: 'Signed in, and not allowed to do this (HTTP 403).',
  notFound: 'There is no such thing within reach (HTTP 404).',
  refused:
    'The server refused it: a conflict or a value that it does not take (HTTP 4xx); or a chain that is broken.',
  unreachable:
    'The server was not reached, did not answer in time, or is overloaded (HTTP 429, 502, 503, 504).',
  differences: 'Differences were found, and `--exit-code` asked to say so.',
  partlyDone: 'A part was done, and a part was refused; what was refused is named.',
  notConforming: 'The server was asked, and does not do what its SPI asks of it.',
  unsettled: 'Money may have moved, or did in an earlier run: look before it is asked for again.',
  interrupted: 'Interrupted by Ctrl-C or SIGTERM.',
};
