// Asks the browser for a passkey and sends its response with the form; all other pages work without JavaScript.
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
      // Rejected, cancelled or timed out: the page contains the text for this.
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
