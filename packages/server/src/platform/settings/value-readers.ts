// Parses the text of one setting. An error message completes the sentence "SWITCHYARD_X …".

/** Thrown by a reader. `message` completes "SWITCHYARD_X …" and never contains a secret. */
export class ValueError extends Error {
  override name = 'ValueError';
}

export type ValueReader<Value> = { type: string; read(text: string): Value };

export function choice<const Values extends readonly string[]>(
  ...values: Values
): ValueReader<Values[number]> {
  return {
    type: values.join(' | '),
    read(text) {
      const match = values.find((value) => value === text);
      if (match === undefined)
        throw new ValueError(`is "${text}", not one of ${values.join(', ')}`);
      return match;
    },
  };
}

export function choices<const Values extends readonly string[]>(
  ...values: Values
): ValueReader<ReadonlySet<Values[number]>> {
  const single = choice(...values);
  return {
    type: `one or more of: ${values.join(', ')}; separated by spaces or commas`,
    read: (text) => new Set(splitList(text).map((part) => single.read(part))),
  };
}

export function integer(min: number, max: number): ValueReader<number> {
  return {
    type: `whole number, ${min} to ${max}`,
    read(text) {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      if (value >= min && value <= max) return value;
      throw new ValueError(`is "${text}", not a whole number from ${min} to ${max}`);
    },
  };
}

export function text(type: string, pattern: RegExp): ValueReader<string> {
  return {
    type,
    read(value) {
      if (pattern.test(value)) return value;
      throw new ValueError(`is "${value}", not a ${type}`);
    },
  };
}

export const filePath: ValueReader<string> = { type: 'path', read: (value) => value };

/** The public URL of a listener, without a slash at its end. */
export const publicUrl: ValueReader<string> = {
  type: 'https URL',
  read(value) {
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (url?.protocol !== 'https:') throw new ValueError(`is "${value}", not an https URL`);
    if (url.username !== '' || url.search !== '' || url.hash !== '') {
      throw new ValueError('must be an https URL without user, query and fragment');
    }
    return url.href.replace(/\/+$/, '');
  },
};

/** For URLs that may contain a password: the error does not repeat the value. */
export function secretUrl(...protocols: readonly string[]): ValueReader<string> {
  return {
    type: `URL (${protocols.join(', ')})`,
    read(value) {
      const hasProtocol = protocols.some((protocol) => value.startsWith(`${protocol}://`));
      if (hasProtocol && URL.canParse(value)) return value;
      throw new ValueError(`is not a URL that starts with ${protocols.join(':// or ')}://`);
    },
  };
}

/** The mail server: `smtps://` uses TLS from the start, `smtp://` changes to TLS with STARTTLS. */
export const smtpServer: ValueReader<string> = {
  type: 'URL (smtp, smtps)',
  read(value) {
    const address = secretUrl('smtp', 'smtps').read(value);
    const { hostname, username, password, pathname, search } = new URL(address);
    if (hostname === '') throw new ValueError('contains no host');
    if (pathname.length > 1 || search !== '')
      throw new ValueError('must contain only user, password, host and port');
    try {
      decodeURIComponent(username + password);
    } catch {
      throw new ValueError('has a user or password that is not percent-encoded');
    }
    return address;
  },
};

/** @param kind - of one of them, as its reader's fault says it */
export function listOf<Value>(
  kind: string,
  maxItems: number,
  read: (part: string) => Value,
): ValueReader<readonly Value[]> {
  return {
    type: `${kind}; one or more, separated by spaces or commas`,
    read(value) {
      const parts = splitList(value);
      if (parts.length > maxItems) throw new ValueError(`holds more than ${maxItems}`);
      return parts.map(read);
    },
  };
}

export function splitList(value: string): string[] {
  const parts = value.split(/[\s,]+/).filter((part) => part !== '');
  if (parts.length === 0) throw new ValueError('is empty');
  return parts;
}
