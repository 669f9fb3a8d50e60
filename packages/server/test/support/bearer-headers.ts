// The Authorization header of a request that may have no token.

/** @returns no header if the token is undefined */
export const bearerHeaders = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };
