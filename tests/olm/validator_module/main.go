// Runs operator-framework's own bundle validation on folders, and tells what it found as JSON, one line for a folder.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
)

type report struct {
	Folder   string   `json:"folder"`
	Errors   []string `json:"errors"`
	Warnings []string `json:"warnings"`
}

var suites = map[string]interfaces.Validators{
	"default":     validation.DefaultBundleValidators,
	"operatorhub": {validation.OperatorHubV2Validator, validation.StandardCategoriesValidator, validation.StandardCapabilitiesValidator},
	"practices":   {validation.GoodPracticesValidator, validation.ObjectValidator, validation.AlphaDeprecatedAPIsValidator},
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: validator SUITE FOLDER...")
		os.Exit(2)
	}
	suite, known := suites[os.Args[1]]
	if !known {
		fmt.Fprintln(os.Stderr, "no such suite:", os.Args[1])
		os.Exit(2)
	}
	for _, folder := range os.Args[2:] {
		told, err := json.Marshal(look(folder, suite))
		if err != nil {
			panic(err)
		}
		fmt.Println(string(told))
	}
}

func look(folder string, suite interfaces.Validators) report {
	found := report{Folder: folder, Errors: []string{}, Warnings: []string{}}
	bundle, err := manifests.GetBundleFromDir(folder)
	if err != nil {
		found.Errors = append(found.Errors, err.Error())
		return found
	}
	objects := bundle.ObjectsToValidate()
	for _, result := range suite.Validate(objects...) {
		for _, one := range result.Errors {
			found.Errors = append(found.Errors, one.Error())
		}
		for _, one := range result.Warnings {
			found.Warnings = append(found.Warnings, one.Error())
		}
	}
	return found
}
