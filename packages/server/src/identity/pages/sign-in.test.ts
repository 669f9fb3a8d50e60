import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { codeAt, createPerson, type Person } from '../../../test/people.ts';
import {
  openSignInPages,
  redirectUri,
  type SignInPages,
  submit,
} from '../../../test/sign-in-pages.ts';

describe('signing in', () => {
  let pages: SignInPages;
  let person: Person;

  before(async () => {
    pages = await openSignInPages();
    const { identity, organizationId, userDomainId } = pages.realm;
    person = await createPerson(
      { identity, organizationId, userDomainId },
      { hasOneTimePassword: true },
    );
  });
  after(() => pages.close());

  test('name, password and code lead back to the application', async () => {
    const browser = pages.openBrowser();
    const page = await browser.browse(pages.link);
    const sent = await submit(browser, page, {
      username: person.user.username,
      password: person.password,
      code: codeAt(person.otpSecret ?? '', pages.clock.now()),
    });
    const back = await browser.visit(sent.location ?? '');
    assert.equal(String(back.location).split('?')[0], redirectUri);
  });
});
