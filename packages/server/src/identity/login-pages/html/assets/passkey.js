// Asks the browser for a passkey and sends its answer with the form; everything else works without it.
(() => {
  const { startAuthentication, startRegistration } = window.SimpleWebAuthnBrowser;
  const form = document.querySelector('form#passkey');
  const options = document.querySelector('#passkey-options');
  const button = document.querySelector('#passkey-button');
  const problem = document.querySelector('#passkey-problem');
  const answer = form?.elements.namedItem('response');
  if (!form || !options || !button || !problem || !answer) return;

  const optionsJSON = JSON.parse(options.dataset.options);
  const ask = options.dataset.kind === 'new' ? startRegistration : startAuthentication;

  async function run() {
    button.disabled = true;
    problem.hidden = true;
    try {
      answer.value = JSON.stringify(await ask({ optionsJSON }));
    } catch {
      // Refused, cancelled or too slow: the words for it stand in the page.
      problem.hidden = false;
      button.disabled = false;
      button.focus();
      return;
    }
    form.submit();
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void run();
  });
  button.hidden = false;
})();
