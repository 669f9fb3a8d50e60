// What the names of an organisation and of its first accounts can contain.
export const organizationNamePattern = /^[^\p{Cc}]{1,100}$/u;
export const userDomainPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
export const mailAddressPattern = /^[^\s<>@]{1,64}@[A-Za-z0-9.-]{1,190}$/;
